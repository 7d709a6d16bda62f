export default function HomePage() {
  return <h1>Countersign</h1>;
}
