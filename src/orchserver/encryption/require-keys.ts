import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { decryptValue, isEncrypted, keyNameOf } from '../../storage/encryption/encrypted-value.ts'
import { Keyring } from '../../storage/encryption/keyring.ts'
import type { Store } from '../../storage/store.ts'
import { CONFIDENTIAL_PREFIXES } from './confidential-prefixes.ts'
import type { KeyFile } from './key-file.ts'

/** Values that are read at once. */
const PAGE = 100

/**
 * Compares the keys with what is stored, before anything is served.
 * @param file undefined: there is none
 * @returns the file; undefined: there is none, and the store does not need one
 * @throws NP_ORCHSERVER_ENCRYPTION_KEY when values are encrypted, and none of them can be decrypted
 */
export async function requireKeys(
  store: Pick<Store, 'list'>,
  path: string,
  file: KeyFile | undefined,
): Promise<void> {
  let refused: { readonly name: string; readonly cause: string } | undefined
  for (const prefix of CONFIDENTIAL_PREFIXES) {
    for await (const { key, value, damaged } of entriesUnder(store, prefix)) {
      if (damaged === true || !isEncrypted(value)) continue
      const name = keyNameOf(value) ?? ''
      if (file?.lost.has(name) === true) continue
      const cause = file === undefined ? '' : causeOf(file, key, value)
      if (cause === undefined) return
      refused ??= { name, cause }
    }
  }
  if (refused !== undefined) throw wrongKeys(path, file, refused)
}

function causeOf(file: KeyFile, key: string, value: Buffer): string | undefined {
  return decryptValue(new Keyring(file.keys), key, value).cause
}

async function* entriesUnder(store: Pick<Store, 'list'>, prefix: string) {
  for (let after: string | undefined; ; ) {
    const from = after === undefined ? {} : { after }
    const page = await store.list({ prefix, limit: PAGE, ...from })
    if (page.refused !== undefined) return
    yield* page.entries
    after = page.entries.at(-1)?.key
    if (page.remaining === 0) return
  }
}

function wrongKeys(
  path: string,
  file: KeyFile | undefined,
  { name, cause }: { readonly name: string; readonly cause: string },
): NodeProxyError {
  const what =
    file === undefined
      ? `Secrets of the store are encrypted with the key ${quote(name)}, and the key file ${path} does not exist`
      : `no key of ${path} decrypts any Secret of the store: ${cause}`
  return new NodeProxyError('NP_ORCHSERVER_ENCRYPTION_KEY', what, {
    object: path,
    hint: `put the key file back that the store was written with; servers that share an etcd need the same file (--encryption-key-file); if the key no longer exists, add the line ${name}:lost below a new key, which makes its Secrets unreadable objects`,
  })
}
