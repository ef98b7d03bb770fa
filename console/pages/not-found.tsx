import { Link } from '../parts/link.tsx'
import { Empty } from '../parts/states.tsx'

export function NotFound({ what }: { what: string }) {
  return (
    <Empty title={`There is nothing at ${what}.`}>
      <p>
        Paste an id into the box above, or begin with the <Link href="/">sessions</Link>.
      </p>
    </Empty>
  )
}
