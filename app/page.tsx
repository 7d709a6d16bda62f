import { Home } from "#components/home";
import { publicBaseUrl } from "#lib/http/public-base-url";

export default function HomePage() {
  return <Home base={publicBaseUrl()} />;
}
