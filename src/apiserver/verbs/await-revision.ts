import type { ServerContext } from '../context/server-context.ts'
import type { StatusError } from '../status/status.ts'
import { revisionTooLarge } from '../status/status-errors.ts'

/** Waits a little until the caches show `revision`; 504 when they do not get there. */
export async function awaitRevision(
  context: ServerContext,
  revision: number,
): Promise<StatusError | undefined> {
  const { feed, limits } = context
  if (await feed.until(revision, limits.futureRevisionTimeout)) return undefined
  return revisionTooLarge(revision, feed.revision)
}
