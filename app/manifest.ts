/** The inbox as an app of the device, which iPhones and iPads need for notifications. */
import type { MetadataRoute } from "next";

export default function manifest(): MetadataRoute.Manifest {
  return {
    name: "Countersign",
    short_name: "Countersign",
    description: "Approval requests of your organizations' AI agents",
    start_url: "/portal/inbox",
    display: "standalone",
    background_color: "#ffffff",
    theme_color: "#1f4690",
    icons: [
      { src: "/icon.svg", sizes: "any", type: "image/svg+xml" },
      { src: "/icon-192.png", sizes: "192x192", type: "image/png" },
      { src: "/icon-512.png", sizes: "512x512", type: "image/png" },
    ],
  };
}
