import { expect, test } from 'vitest'
import { ask } from '../support/postgres.ts'
import { createWorkplace } from '../support/workplace.ts'

test('a worker whose connection breaks while it reports a job as done goes on taking jobs', {
  timeout: 20_000,
}, async () => {
  const { url, sw, join } = await createWorkplace({ lease_ms: 1_000 })
  const warnings: unknown[] = []
  const worker = await join(4, { warn: (_, details) => warnings.push(details) })
  // A number that was drawn stays drawn, also when the transaction dies.
  await ask(
    url,
    `CREATE SEQUENCE reports;
     CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF nextval('reports') IN (1, 2, 5) THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
        RETURN OLD;
      END $$;
     CREATE TRIGGER cut BEFORE DELETE ON statewright_jobs._private_jobs FOR EACH ROW EXECUTE FUNCTION cut()`,
  )
  for (let i = 0; i < 10; i++) {
    const handle = await sw.submit({ agent: 'reader', input: { pages: 1, ms: 1 } })
    expect(await handle.result()).toMatchObject({ status: 'succeeded' })
  }
  // The fault fired.
  expect(JSON.stringify(warnings)).toContain('Failed to complete jobs')
  await worker.close()
})
