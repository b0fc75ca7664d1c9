import { forge, newSigningKey, signers } from '../../../src/auth/testing/forge.ts'
import { type Careless, SECRETS, send } from './careless-clients.ts'

/** Tokens that nobody issued: of another key, without a signature, expired, and no token at all. */
function forgedTokens({ secrets }: Careless): readonly string[] {
  const key = newSigningKey()
  const claims = { iss: 'https://orch.default.svc', sub: 'system:serviceaccount:careless:robot' }
  const signed = (payload: unknown): string =>
    forge({ alg: 'ES256', kid: key.id }, payload, signers.ecdsa(key.privateKey))
  return [
    secrets.know('token of another key', signed({ ...claims, exp: 4_000_000_000 })),
    secrets.know('expired token', signed({ ...claims, exp: 1 })),
    secrets.know(
      'token of the wrong algorithm',
      forge({ alg: 'HS256' }, claims, signers.hmac(secrets.make('key of HMAC'))),
    ),
  ]
}

/** Sends tokens and passwords where they belong, and where they do not. */
export async function misplaceCredentials(
  careless: Careless,
  issued: readonly string[],
): Promise<void> {
  const { admin, stranger, secrets } = careless
  const opaque = secrets.make('opaque token').replaceAll(/[^a-z0-9]/g, '')
  const password = secrets.make('password of a user')
  for (const token of [...issued, ...forgedTokens(careless), opaque]) {
    for (const client of [admin, stranger]) {
      for (const headers of headersWith(token)) {
        await send(careless, client, ['GET', SECRETS], { headers })
      }
      for (const name of ['access_token', 'token', 'bearer_token', 'Access%5Ftoken']) {
        await send(careless, client, ['GET', `${SECRETS}?limit=1&${name}=${token}`])
      }
    }
  }
  for (const token of issued) {
    for (const path of [`${SECRETS}/${token}`, `/api/v1/${token}`, `/${token}/healthz`]) {
      for (const client of [admin, stranger]) await send(careless, client, ['GET', path])
    }
  }
  const basic = Buffer.from(`ann:${password}`).toString('base64')
  await send(careless, stranger, ['GET', SECRETS], { headers: { authorization: `Basic ${basic}` } })
  await send(careless, stranger, ['GET', `${SECRETS}?password=${encodeURIComponent(password)}`])
}

function headersWith(token: string): readonly Readonly<Record<string, string>>[] {
  const protocol = `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`
  return [
    { authorization: `Bearer ${token}` },
    { authorization: `bearer   ${token}` },
    { authorization: token },
    { authorization: `Token ${token}` },
    { authorization: `Bearer ${token}, Bearer ${token}` },
    { 'proxy-authorization': `Bearer ${token}` },
    { cookie: `token=${token}` },
    { 'sec-websocket-protocol': `${protocol}, v4.channel.k8s.io` },
    { 'user-agent': `careless/1 Bearer ${token}` },
    { 'x-forwarded-for': token },
  ]
}
