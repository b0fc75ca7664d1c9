import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../lib/clock.ts'
import { regularly } from '../../lib/regularly.ts'
import type { CertificateSource, ServingCertificate } from './serving-certificate.ts'

export interface FollowOptions {
  readonly source: CertificateSource
  readonly clock: Clock
  /** What is served with at the beginning. */
  readonly first: ServingCertificate
  readonly onChange: (next: ServingCertificate) => void | Promise<void>
  /** It failed; the certificate before stays, and it is tried again. */
  readonly onFailure: (error: unknown) => void
}

/**
 * Short, although certificates last for months: a clock that was wrong at the
 * start may jump, and somebody may replace a certificate that was stolen.
 */
const LOOK_EVERY_MS = 600_000

/** Looks from time to time whether there is another certificate to serve with; returns the end of it. */
export function followCertificate(options: FollowOptions): () => void {
  const { source, clock, onChange, onFailure } = options
  let shown = options.first
  let isOver = false
  const round = async (): Promise<void> => {
    const next = await source.current()
    if (isOver || isDeepStrictEqual(next, shown)) return
    await onChange(next)
    shown = next
  }
  const stop = regularly({ clock, everyMs: LOOK_EVERY_MS, round, onError: onFailure })
  return () => {
    isOver = true
    stop()
  }
}
