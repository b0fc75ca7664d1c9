import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../lib/clock.ts'
import { regularly } from '../../lib/regularly.ts'
import type { EtcdTls } from '../../storage/etcd/present-tls.ts'

export interface FollowOptions {
  readonly clock: Pick<Clock, 'after'>
  /** What is used at the beginning. */
  readonly first: EtcdTls
  readonly read: () => Promise<EtcdTls>
  readonly onChange: (next: EtcdTls) => void
  /** It failed, perhaps because only half is renewed; what was read before stays, and it is tried again. */
  readonly onError: (error: unknown) => void
}

/** As often as the server looks at its own certificate. */
const LOOK_EVERY_MS = 600_000

/** Looks from time to time whether the files for etcd were renewed; returns the end of it. */
export function followEtcdTls({
  clock,
  first,
  read,
  onChange,
  onError,
}: FollowOptions): () => void {
  let known = first
  const round = async (): Promise<void> => {
    const next = await read()
    if (isDeepStrictEqual(next, known)) return
    onChange(next)
    known = next
  }
  return regularly({ clock, everyMs: LOOK_EVERY_MS, round, onError })
}
