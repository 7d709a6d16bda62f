export const mutations: { threat: string; file: string; from: string; to: string; test: string }[];
