import { readFile } from 'node:fs/promises'
import type { Clock } from '../../../lib/clock.ts'
import { NodeProxyError, systemCode } from '../../../lib/error.ts'
import type { Credential, CredentialSource } from './credential.ts'
import { bearer } from './credential.ts'

/** Milliseconds for which a read token is used. After its rotation an old token remains valid for minutes. */
const FRESH_MS = 60_000
const TOKEN = /^[\x21-\x7e]+$/

/** The token in a file that another process rotates; the file is read every minute and after a 401. */
export function tokenFileCredential(path: string, clock: Clock): CredentialSource {
  let cached: { readonly credential: Credential; readonly readAt: number } | undefined

  async function current(): Promise<Credential> {
    const now = clock.now()
    // A negative age shows that the clock was set back.
    const ageMs = cached === undefined ? Number.NaN : now - cached.readAt
    if (cached !== undefined && ageMs >= 0 && ageMs < FRESH_MS) return cached.credential
    cached = { credential: bearer(await readToken(path)), readAt: now }
    return cached.credential
  }

  return {
    kind: 'token-file',
    current,
    check: async () => void (await current()),
    reject() {
      cached = undefined
      return true
    },
  }
}

/** Checks that a token fits into a header. `object` is its file, field or command. @throws NP_CLIENT_CREDENTIAL */
export function checkToken(token: string, object: string): string {
  if (TOKEN.test(token)) return token
  const message = 'the token is empty or has characters that are not allowed in a token'
  throw new NodeProxyError('NP_CLIENT_CREDENTIAL', message, { object })
}

async function readToken(path: string): Promise<string> {
  try {
    return checkToken((await readFile(path, 'utf8')).trim(), path)
  } catch (cause) {
    if (cause instanceof NodeProxyError) throw cause
    const code = systemCode(cause)
    const message = `the token file ${JSON.stringify(path)} cannot be read: ${code}`
    throw new NodeProxyError('NP_CLIENT_CREDENTIAL', message, { object: path, cause })
  }
}
