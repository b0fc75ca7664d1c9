import { readFileSync } from 'node:fs'
import { forge, newSigningKey, signers } from '../../../src/auth/testing/forge.ts'
import { readSigningKey, type SigningKey } from '../../../src/auth/tokens/signing-key.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { JsonObject } from '../../../src/lib/json.ts'
import type { Attacker } from '../hostile/attacker.ts'
import { type Careless, SECRETS, send } from './careless-clients.ts'

/** Invalid tokens: expired, of another key, of another algorithm, and a text that is not a token. */
function badTokens(
  { secrets }: Careless,
  key: SigningKey,
  issued: string,
): Readonly<Record<string, string>> {
  const claims = JSON.parse(
    Buffer.from(issued.split('.')[1]!, 'base64url').toString(),
  ) as JsonObject
  const signed = ({ id: kid, privateKey }: SigningKey, payload: unknown): string =>
    forge({ alg: 'ES256', kid }, payload, signers.ecdsa(privateKey))
  const hmac = signers.hmac(secrets.make('key of HMAC'))
  const [hour, now] = [3600, Math.floor(systemClock.now() / 1000)]
  const past = { iat: now - 2 * hour, nbf: now - 2 * hour, exp: now - hour }
  return {
    'expired token': signed(key, { ...claims, ...past }),
    'token of another key': signed(newSigningKey(), claims),
    'token of another algorithm': forge({ alg: 'HS256', kid: key.id }, claims, hmac),
    'opaque token': secrets.make('text for a token').replaceAll(/[^a-z0-9]/g, ''),
  }
}

/** The answer of a server to each token in its proper place: 200 or 401. */
export type Statuses = Readonly<Record<string, number>>

/** Sends tokens and passwords in their proper place, and in wrong places. */
export async function misplaceCredentials(
  careless: Careless,
  issued: readonly string[],
  keyFile: string,
): Promise<Statuses> {
  const { admin, anonymous, secrets } = careless
  const key = readSigningKey(readFileSync(keyFile, 'utf8'), keyFile)
  const bad = badTokens(careless, key, issued[0]!)
  const good = Object.fromEntries(issued.map((token, index) => [`issued ${index}`, token]))
  const statuses: Record<string, number> = {}
  for (const [label, token] of Object.entries({ ...good, ...bad })) {
    secrets.know(label, token)
    const headers = { authorization: `Bearer ${token}` }
    statuses[label] = (await send(careless, anonymous, ['GET', '/api'], { headers })).status
    for (const client of [admin, anonymous]) await misplace(careless, client, token)
  }
  for (const token of issued) {
    for (const path of [`${SECRETS}/${token}`, `/api/v1/${token}`, `/${token}/healthz`]) {
      for (const client of [admin, anonymous]) await send(careless, client, ['GET', path])
    }
  }
  const password = secrets.make('password of a user')
  const basic = Buffer.from(`ann:${password}`).toString('base64')
  await send(careless, anonymous, ['GET', SECRETS], {
    headers: { authorization: `Basic ${basic}` },
  })
  await send(careless, anonymous, ['GET', `${SECRETS}?password=${encodeURIComponent(password)}`])
  return statuses
}

async function misplace(careless: Careless, client: Attacker, token: string): Promise<void> {
  for (const headers of headersWith(token)) {
    await send(careless, client, ['GET', SECRETS], { headers })
  }
  for (const name of ['access_token', 'token', 'bearer_token', 'Access%5Ftoken']) {
    await send(careless, client, ['GET', `${SECRETS}?limit=1&${name}=${token}`])
  }
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
