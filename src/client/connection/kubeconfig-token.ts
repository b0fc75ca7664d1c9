import type { Document } from 'yaml'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError, systemCode } from '../../lib/error.ts'
import { replaceFile } from '../../lib/files.ts'
import { isJsonObject } from '../../lib/json.ts'
import { bearer, type Credential, type CredentialSource } from './credential/credential.ts'
import { checkToken } from './credential/token-file.ts'
import { kubeconfigValue, readKubeconfigDocument } from './kubeconfig-document.ts'

/** A user entry of a kubeconfig. */
export interface KubeconfigEntry {
  /** Absolute path. */
  readonly file: string
  readonly userName: string
}

/** Milliseconds for which a read token is used. */
const FRESH_MS = 60_000

/**
 * The token of a user entry. The file is read again every minute and after a 401, and a new token in it is used. While
 * it cannot be read or has no token, the last token stays in use. A renewed token is written into the file; the rest
 * of the file is unchanged.
 */
export function kubeconfigToken(
  entry: KubeconfigEntry,
  token: string,
  clock: Pick<Clock, 'now'>,
): CredentialSource {
  /** The token that the file had when last read: the token in use may be newer if the file cannot be written. */
  let ofFile = token
  let used: { readonly token: string; readonly credential: Credential } = {
    token,
    credential: bearer(token),
  }
  let readAt = clock.now()

  function use(next: string): void {
    used = { token: next, credential: bearer(next) }
  }

  async function reread(): Promise<void> {
    readAt = clock.now()
    const found = await readToken(entry).catch(() => undefined)
    if (found === undefined || found === ofFile) return
    ofFile = found
    use(found)
  }

  return {
    kind: 'token',
    async current() {
      if (!isFresh(clock.now() - readAt)) await reread()
      return used.credential
    },
    async reject() {
      const refused = used.token
      await reread()
      return used.token !== refused
    },
    renewable: {
      present: () => used.token,
      async replace(next) {
        use(next)
        try {
          const document = await readKubeconfigDocument(entry.file)
          const { index, token: found } = locate(document, entry)
          if (found !== ofFile) {
            ofFile = found
            use(found)
            return undefined
          }
          document.setIn(['users', index, 'user', 'token'], next)
          await replaceFile(entry.file, document.toString({ lineWidth: 0 }))
          ofFile = next
          return undefined
        } catch (error) {
          return reasonOf(error)
        }
      },
    },
  }
}

/** A negative age shows that the clock was set back. */
function isFresh(ageMs: number): boolean {
  return ageMs >= 0 && ageMs < FRESH_MS
}

async function readToken(entry: KubeconfigEntry): Promise<string> {
  return locate(await readKubeconfigDocument(entry.file), entry).token
}

/** The position of the entry in the list of users, and its token. @throws NP_CLIENT_KUBECONFIG, NP_CLIENT_CREDENTIAL */
function locate(
  document: Document,
  { file, userName }: KubeconfigEntry,
): { readonly index: number; readonly token: string } {
  const value = kubeconfigValue(document, file)
  const users: unknown = isJsonObject(value) ? value['users'] : undefined
  const entries: readonly unknown[] = Array.isArray(users) ? users : []
  const index = entries.findIndex((one) => isJsonObject(one) && one['name'] === userName)
  const found = entries[index]
  const user = isJsonObject(found) ? found['user'] : undefined
  const token = isJsonObject(user) ? user['token'] : undefined
  if (typeof token === 'string') return { index, token: checkToken(token.trim(), 'user.token') }
  const message = `users has no token of ${JSON.stringify(userName)} any more`
  throw new NodeProxyError('NP_CLIENT_KUBECONFIG', message, { object: file })
}

/** The message of our own error, else the system's code: its message may quote the path of a temporary file. */
function reasonOf(error: unknown): string {
  if (error instanceof NodeProxyError) return error.message
  return systemCode(error)
}
