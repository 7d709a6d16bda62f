/**
 * Where the log lies outside the database: a bucket of any S3 (s3-store.ts) or a folder (folder-store.ts). What both must
 * keep: an object is whole or not there, and stays once a call has returned; `replace` changes it for one caller alone.
 */

/** A name below the store's prefix, such as `checkpoint` or `tile/0/000`. */
export type ObjectKey = string;

export interface StoredObject {
  bytes: Uint8Array;
  /** Tag of these bytes in this object: each change makes another one. */
  tag: string;
}

/** How long others may remember it. */
export type ObjectKind = "immutable" | "checkpoint" | "lock";

export interface ObjectStore {
  /** For messages: where it is. */
  readonly name: string;
  /** Null if there is none. */
  read(key: ObjectKey): Promise<StoredObject | null>;
  /** False if there is one already, whatever it holds. */
  create(key: ObjectKey, bytes: Uint8Array, kind: ObjectKind): Promise<boolean>;
  /** Whatever was there before. */
  write(key: ObjectKey, bytes: Uint8Array, kind: ObjectKind): Promise<void>;
  /**
   * Only if the object still has this tag (null: if there is none); its new tag, or null if it has another one. Rejects if
   * nobody knows: then it may have been changed, or be changed later.
   */
  replace(key: ObjectKey, bytes: Uint8Array, tag: string | null): Promise<string | null>;
  /** The last parts of the names right below `folder`. */
  list(folder: string): Promise<string[]>;
  close(): void;
}

/** The same store with a longer prefix. */
export function within(store: ObjectStore, folder: string): ObjectStore {
  if (folder === "") return store;
  const inside = (key: string) => `${folder}/${key}`;
  return {
    name: `${store.name}/${folder}`,
    read: (key) => store.read(inside(key)),
    create: (key, bytes, kind) => store.create(inside(key), bytes, kind),
    write: (key, bytes, kind) => store.write(inside(key), bytes, kind),
    replace: (key, bytes, tag) => store.replace(inside(key), bytes, tag),
    list: (below) => store.list(inside(below)),
    close: () => store.close(),
  };
}
