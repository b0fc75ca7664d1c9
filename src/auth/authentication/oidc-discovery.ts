import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose'
import type { Clock } from '../../lib/clock.ts'
import { stringAt } from '../../lib/json.ts'

/** The parts of a GET response that are used. */
export type FetchedDocument = Pick<Response, 'status' | 'json'>

/** Gets a document of the provider; rejects if the provider cannot be reached. */
export type FetchDocument = (url: string) => Promise<FetchedDocument>

/** After a query that fails, the next one begins this many milliseconds after it began, at the earliest. */
const PAUSE_MS = 10_000

interface Discovery {
  readonly keys: Promise<JWTVerifyGetKey>
  readonly begunAt: number
  hasFailed: boolean
}

/**
 * The keys of a provider, found by its metadata (OpenID Connect Discovery 1.0 §4) when the first token needs
 * them, so a server starts while its provider is down. They are kept, and read again for an unknown key.
 */
export function discoverKeys(
  issuer: string,
  fetchDocument: FetchDocument,
  clock: Pick<Clock, 'now'>,
): JWTVerifyGetKey {
  let known: Discovery | undefined
  const begin = (): Discovery => {
    const keys = readMetadata(issuer, fetchDocument)
    const discovery: Discovery = { keys, begunAt: clock.now(), hasFailed: false }
    keys.catch(() => {
      discovery.hasFailed = true
    })
    return discovery
  }
  return async (header, token) => {
    if (known === undefined || (known.hasFailed && clock.now() - known.begunAt >= PAUSE_MS)) {
      known = begin()
    }
    const keys = await known.keys
    return keys(header, token)
  }
}

async function readMetadata(
  issuer: string,
  fetchDocument: FetchDocument,
): Promise<JWTVerifyGetKey> {
  const base = issuer.replace(/\/$/u, '')
  const document = await fetchDocument(`${base}/.well-known/openid-configuration`)
  if (document.status !== 200) throw new Error(`the metadata of ${issuer}: ${document.status}`)
  const metadata = (await document.json()) as Parameters<typeof stringAt>[0]
  if (stringAt(metadata, 'issuer') !== issuer) {
    throw new Error(`the metadata at ${issuer} is that of another issuer`)
  }
  const keysUrl = stringAt(metadata, 'jwks_uri')
  if (!keysUrl.startsWith('https://')) throw new Error(`${issuer} has no https URL of keys`)
  return createRemoteJWKSet(new URL(keysUrl), {
    [customFetch]: async (url) => (await fetchDocument(url)) as Response,
  })
}
