import { type Clock, sleep } from '../../lib/clock.ts'
import { quote } from '../../lib/quote.ts'
import { follow } from '../../lib/regularly.ts'
import type { Encryption } from '../../storage/encryption/encrypted-store.ts'
import type { EncryptionKey, EncryptionKeys, Keyring } from '../../storage/encryption/keyring.ts'
import { rewriteValues } from '../../storage/encryption/rewrite-values.ts'
import type { Store } from '../../storage/store.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { createFailureLog } from '../system/failure-log.ts'
import { keyFileError, missingKeyFile, parseKeyFile, readKeyText } from './key-file.ts'

export interface FollowKeysOptions {
  readonly path: string
  /** The text of the key file from which the keys of `encryption` were read. */
  readonly text: string
  readonly encryption: Encryption
  /** The store below the encryption. */
  readonly store: Store
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
}

/** Milliseconds until a rewrite is repeated after an error of the store. */
const RETRY_MS = 10_000
/** Longer than a write can take that began with the earlier keys. */
const SETTLE_MS = 10_000

/**
 * Rewrites the values that the first key has not encrypted, at the start and whenever the key file changes. A
 * key that was removed from the file still decrypts until the rewrite is complete. An unusable file changes
 * nothing.
 * @returns stops it
 */
export function followKeys(options: FollowKeysOptions): () => Promise<void> {
  const { path, text, encryption, clock, log } = options
  const rewriting = new Rewriting(options)
  rewriting.begin({ keys: encryption.keys.keys, again: new Set(), settleMs: 0 })
  const stop = follow({
    clock,
    first: text,
    read: async () => {
      const next = await readKeyText(path)
      if (next === undefined) throw missingKeyFile(path)
      refuseChanged(path, parseKeyFile(path, next).keys, encryption.keys)
      return next
    },
    onChange: (next) => {
      const { keys } = parseKeyFile(path, next)
      const unknown = keys.filter(({ name }) => encryption.keys.find(name) === undefined)
      const again = new Set(unknown.map(({ name }) => name))
      encryption.keys.replace(withEarlier(keys, encryption.keys.keys))
      log.info({ file: path, key: keys[0].name }, 'the encryption keys were read again')
      rewriting.begin({ keys, again, settleMs: SETTLE_MS })
    },
    onError: createFailureLog({ clock, log }, () => ({
      level: 'error',
      message: 'the encryption keys could not be read again; those in use stay',
    })),
  })
  return async () => {
    stop()
    await rewriting.end()
  }
}

/** Refuses a key whose bytes changed under the same name while the server runs: values refer to keys by name only. */
function refuseChanged(path: string, keys: EncryptionKeys, known: Keyring): void {
  const changed = keys.find(({ name, secret }) => known.find(name)?.secret.equals(secret) === false)
  if (changed === undefined) return
  const what = `has another key under the name ${quote(changed.name)} than before`
  throw keyFileError(path, what, 'put the earlier line back, and give the new key a new name')
}

/** The keys of the file, followed by those that it no longer has. */
function withEarlier(keys: EncryptionKeys, earlier: EncryptionKeys): EncryptionKeys {
  const isGone = (one: EncryptionKey): boolean => keys.every(({ name }) => name !== one.name)
  return [...keys, ...earlier.filter(isGone)]
}

interface Round {
  /** The keys of the file. */
  readonly keys: EncryptionKeys
  /** Names of keys that were not known before. */
  readonly again: ReadonlySet<string>
  readonly settleMs: number
}

/** Rewrites values in the background, one round at a time; a new round aborts the one before. */
class Rewriting {
  readonly #options: FollowKeysOptions
  readonly #onError: (error: unknown) => void
  #abort = new AbortController()
  #ended: Promise<void> = Promise.resolve()

  constructor(options: FollowKeysOptions) {
    this.#options = options
    const { clock, log } = options
    this.#onError = createFailureLog({ clock, log }, () => ({
      level: 'warn',
      message: 'Secrets could not be encrypted with the first key; orch-server tries again',
    }))
  }

  begin(round: Round): void {
    this.#abort.abort()
    this.#abort = new AbortController()
    const { signal } = this.#abort
    this.#ended = this.#ended.then(() => this.#run(round, signal))
  }

  end(): Promise<void> {
    this.#abort.abort()
    return this.#ended
  }

  async #run(round: Round, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    await sleep(clock, round.settleMs, signal)
    while (!signal.aborted) {
      try {
        return await this.#rewrite(round, signal)
      } catch (error) {
        if (!signal.aborted) this.#onError(error)
        await sleep(clock, RETRY_MS, signal)
      }
    }
  }

  async #rewrite({ keys, again, settleMs }: Round, signal: AbortSignal): Promise<void> {
    const { encryption, store, clock, log } = this.#options
    const { rewritten, undecryptable } = await rewriteValues({
      store,
      encryption,
      again,
      clock,
      signal,
    })
    if (signal.aborted) return
    encryption.keys.replace(keys)
    const fields = { key: keys[0].name, rewritten, undecryptable }
    if (undecryptable > 0) {
      log.warn(fields, 'Secrets cannot be decrypted with any key; all others use the first one')
    } else if (rewritten > 0 || settleMs > 0) {
      log.info(fields, 'all Secrets are encrypted with the first key')
    }
  }
}
