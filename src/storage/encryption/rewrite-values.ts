import { type Clock, sleep } from '../../lib/clock.ts'
import type { Store, StoredEntry } from '../store.ts'
import type { Encryption } from './encrypted-store.ts'
import { decryptValue, encryptValue, isEncrypted, keyNameOf } from './encrypted-value.ts'

export interface RewriteOptions {
  /** The store below `encryptedStore`, whose values are not decrypted. */
  readonly store: Pick<Store, 'list' | 'txn' | 'compact'>
  readonly encryption: Encryption
  /**
   * Names of keys whose values are rewritten even if the first key encrypted them, because caches show them as
   * undecryptable.
   */
  readonly again?: ReadonlySet<string>
  readonly clock: Pick<Clock, 'after'>
  /** Stops the work between two writes. */
  readonly signal: AbortSignal
}

/** The result of `rewriteValues`: numbers of values. */
export interface Rewritten {
  readonly rewritten: number
  /** Values that no key decrypts; they stay as they are. */
  readonly undecryptable: number
}

/**
 * Values that are read at once. The work pauses after a page with writes, so that at most 200 values are
 * written per second.
 */
const PAGE = 100
const PAUSE_MS = 500
/** Longer than a write can take that began with the earlier keys. */
const SETTLE_MS = 10_000

/**
 * Encrypts with the first key every confidential value that is in clear or encrypted with another key, and
 * removes the earlier versions from the history. A value that is written meanwhile is left to its writer. It
 * ends only after a pass that found nothing more to do, ten seconds after the last write.
 * @throws the errors of the store
 */
export async function rewriteValues(options: RewriteOptions): Promise<Rewritten> {
  const { store, clock, signal } = options
  let again = options.again ?? new Set<string>()
  let rewritten = 0
  let last = 0
  for (;;) {
    const pass = await rewriteOnce({ ...options, again })
    rewritten += pass.rewritten
    last = Math.max(last, pass.revision)
    if (signal.aborted) return { rewritten, undecryptable: pass.undecryptable }
    if (pass.rewritten + pass.conflicts === 0) {
      if (rewritten > 0) await store.compact(last)
      return { rewritten, undecryptable: pass.undecryptable }
    }
    again = new Set()
    await sleep(clock, SETTLE_MS, signal)
  }
}

interface Pass {
  rewritten: number
  conflicts: number
  undecryptable: number
  /** The revision of the last write. */
  revision: number
}

async function rewriteOnce(options: Required<RewriteOptions>): Promise<Pass> {
  const pass: Pass = { rewritten: 0, conflicts: 0, undecryptable: 0, revision: 0 }
  for (const prefix of options.encryption.prefixes) await rewriteUnder(prefix, options, pass)
  return pass
}

async function rewriteUnder(
  prefix: string,
  options: Required<RewriteOptions>,
  pass: Pass,
): Promise<void> {
  const { store, clock, signal } = options
  for (let after: string | undefined; !signal.aborted; ) {
    const from = after === undefined ? {} : { after }
    const page = await store.list({ prefix, limit: PAGE, ...from })
    if (page.refused !== undefined) return
    const before = pass.rewritten
    for (const entry of page.entries) if (!signal.aborted) await rewrite(entry, options, pass)
    after = page.entries.at(-1)?.key
    if (page.remaining === 0) return
    if (pass.rewritten > before) await sleep(clock, PAUSE_MS, signal)
  }
}

async function rewrite(
  { key, value, modRevision, damaged }: StoredEntry,
  { store, encryption, again }: Required<RewriteOptions>,
  pass: Pass,
): Promise<void> {
  const { first } = encryption.keys
  if (damaged === true || isUnder(value, first.name, again)) return
  const clear = isEncrypted(value) ? decryptValue(encryption.keys, key, value) : { value }
  if (clear.cause !== undefined) {
    pass.undecryptable++
    return
  }
  const put = { op: 'put', key, value: encryptValue(first, key, clear.value) } as const
  const result = await store.txn({ compare: [{ key, modRevision }], operations: [put] })
  if (!result.committed) {
    pass.conflicts++
    return
  }
  pass.rewritten++
  pass.revision = result.revision
}

function isUnder(value: Buffer, name: string, again: ReadonlySet<string>): boolean {
  return keyNameOf(value) === name && !again.has(name)
}
