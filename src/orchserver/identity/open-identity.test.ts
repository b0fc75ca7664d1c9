import { createPublicKey } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import { expect, onTestFinished, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { parseFlags } from '../../settings/flags.ts'
import { loadConfiguration } from '../../settings/load.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { newKey } from '../certificates/pem.ts'
import { madeCertificate } from '../certificates/serving-certificate.ts'
import { SETTINGS_TABLE } from '../config/settings-table.ts'
import { newFolder } from '../testing/new-folder.ts'
import { openIdentity } from './open-identity.ts'

const CLAIMS = { namespace: 'shop', account: { name: 'web', uid: 'u' } }
const REQUEST = { claims: CLAIMS, audiences: ['x'], lifetimeSeconds: 600 }

async function configured(dataDir: string, ...flags: string[]) {
  const parsed = parseFlags(SETTINGS_TABLE, [`--data-dir=${dataDir}`, ...flags])
  if (!parsed.ok) throw new Error(parsed.problem.message)
  const loaded = await loadConfiguration(SETTINGS_TABLE, undefined, parsed.line)
  if (!loaded.ok) throw new Error(loaded.problems[0]!.message)
  return loaded.config
}

/** The identity of a server with these flags; what it logs. */
async function open(dataDir: string, ...flags: string[]) {
  const clock = new FakeClock(Date.now())
  const records: { msg: string; reason?: string; what?: string }[] = []
  const stream = { write: (line: string) => void records.push(JSON.parse(line)) }
  const log = await createLogger({ verbosity: 0, pretty: false, stream })
  const config = await configured(dataDir, ...flags)
  const identity = await openIdentity(config, { clock, log, own: [] })
  onTestFinished(() => identity.stop())
  const authenticate = async (bearerToken: string) => {
    for (const one of identity.options.authenticators ?? []) {
      const found = await one.authenticate({ bearerToken })
      if (found !== undefined) return found
    }
    return undefined
  }
  return { identity, clock, records, authenticate, text: () => JSON.stringify(records) }
}

test('a key is made once, for this user only, and signs tokens of the issuer', async () => {
  const dataDir = newFolder()
  const first = await open(dataDir)
  const path = join(dataDir, 'pki', 'sa.key')
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const { token } = await first.identity.options.issuer!.issue(REQUEST)
  const key = createPublicKey(readFileSync(path))
  const { payload } = await jwtVerify(token, key, { issuer: 'https://orch.default.svc' })
  expect(payload.sub).toBe('system:serviceaccount:shop:web')
  const again = await open(dataDir)
  expect(again.identity.options.keys()).toEqual(first.identity.options.keys())
  expect(first.identity.options.audiences).toEqual(['https://orch.default.svc'])
})

test('the first key of the file signs, all verify, and a changed file is taken over', async () => {
  const folder = newFolder()
  const path = join(folder, 'keys.pem')
  const [old, next] = [newKey(), newKey()]
  writeFileSync(path, old)
  const flags = [`--service-account-signing-key-file=${path}`]
  const { identity, clock, records } = await open(join(folder, 'data'), ...flags)
  const keyOf = async () =>
    decodeProtectedHeader((await identity.options.issuer!.issue(REQUEST)).token).kid
  const before = await keyOf()
  writeFileSync(path, `a comment\n${next}${old}`)
  await clock.advance(10_000)
  await expect.poll(() => identity.options.keys()).toHaveLength(2)
  const after = await keyOf()
  expect(identity.options.keys().map(({ id }) => id)).toEqual([after, before])
  expect(await identity.sign({ iss: 'x' }).then(decodeProtectedHeader)).toMatchObject({
    kid: after,
  })
  expect(records.at(-1)).toMatchObject({ what: 'the keys of service accounts' })
  expect(existsSync(join(folder, 'data', 'pki', 'sa.key'))).toBe(false)
})

test('a file that becomes useless changes nothing, and is named in the log', async () => {
  const folder = newFolder()
  const path = join(folder, 'keys.pem')
  const key = newKey()
  writeFileSync(path, key)
  const flags = [`--service-account-signing-key-file=${path}`]
  const { identity, clock, records, text } = await open(join(folder, 'data'), ...flags)
  const keys = identity.options.keys()
  for (const broken of ['', key.slice(0, 100), key.replace(/\n[A-Z]/i, '\n0')]) {
    const count = records.length
    writeFileSync(path, broken)
    await clock.advance(10_000)
    await expect.poll(() => records.length).toBeGreaterThan(count)
    expect(identity.options.keys()).toEqual(keys)
  }
  expect(text()).toContain(path)
  expect(text()).not.toContain(key.split('\n')[1]!.slice(0, 40))
})

test.each<[string, (folder: string) => string[], RegExp]>([
  [
    'a key file that does not exist',
    (folder) => [`--service-account-key-file=${join(folder, 'none')}`],
    /none: no key for tokens: the file does not exist/,
  ],
  [
    'a key file without a key',
    (folder) => [`--service-account-signing-key-file=${file(folder, 'text')}`],
    /the file holds no key in PEM/,
  ],
  [
    'a token file that does not exist',
    (folder) => [`--token-auth-file=${join(folder, 'none')}`],
    /none cannot be read: Error: ENOENT/,
  ],
  [
    'a token file that is none',
    (folder) => [`--token-auth-file=${file(folder, 'secret-token')}`],
    /record 1 has fewer than three fields/,
  ],
  [
    'an authority of clients that is none',
    (folder) => [`--client-ca-file=${file(folder, 'text')}`],
    /holds no certificate in PEM/,
  ],
  [
    'an authority of the provider that is none',
    (folder) => [
      '--oidc-issuer-url=https://id.example',
      '--oidc-client-id=orch',
      `--oidc-ca-file=${file(folder, 'text')}`,
    ],
    /holds no certificate in PEM/,
  ],
])('%s is refused by its name', async (_, flags, message) => {
  const folder = newFolder()
  const opening = open(join(folder, 'data'), ...flags(folder))
  await expect(opening).rejects.toThrow(message)
  await expect(opening).rejects.not.toThrow(/secret-token/)
})

function file(folder: string, text: string): string {
  const path = join(folder, 'given')
  writeFileSync(path, text)
  return path
}

test('users of a token file are known as the file is now', async () => {
  const folder = newFolder()
  const path = join(folder, 'tokens.csv')
  writeFileSync(path, 'secret-1,ann,1,"dev,ops"\n')
  const flags = [`--token-auth-file=${path}`]
  const { clock, authenticate, text } = await open(join(folder, 'data'), ...flags)
  expect(await authenticate('secret-1')).toMatchObject({ user: { name: 'ann' } })
  writeFileSync(path, 'secret-2,bob,2\n')
  await clock.advance(10_000)
  await expect.poll(() => authenticate('secret-1')).toBe(undefined)
  expect(await authenticate('secret-2')).toMatchObject({ user: { name: 'bob' } })
  expect(text()).not.toMatch(/secret-\d/)
})

test('client certificates of our own authority and of given ones are accepted', async () => {
  const folder = newFolder()
  const authorityOf = async (name: string) => {
    const names = { dns: ['x'], ips: [] }
    const made = madeCertificate({ folder: join(folder, name), names, clock: new FakeClock() })
    return (await made.current()).authority!
  }
  const [first, second] = [await authorityOf('first'), await authorityOf('second')]
  const path = join(folder, 'clients.crt')
  writeFileSync(path, first)
  const dataDir = join(folder, 'data')
  const { identity, clock } = await open(dataDir, `--client-ca-file=${path}`)
  const own = readFileSync(join(dataDir, 'pki', 'ca.crt'), 'utf8')
  expect(identity.clientAuthorities.current()).toBe(`${own}\n${first}`)
  const changes: string[] = []
  identity.clientAuthorities.onChange((next) => void changes.push(next))
  writeFileSync(path, second)
  await clock.advance(10_000)
  await expect.poll(() => changes).toEqual([`${own}\n${second}`])
})

test('rejections are logged once in a minute for each reason', async () => {
  const { identity, clock, records } = await open(newFolder())
  for (const reason of ['its account was deleted', 'it is expired', 'it is expired']) {
    identity.options.onRejected!(reason)
  }
  expect(records.map(({ reason }) => reason)).toEqual(['its account was deleted', 'it is expired'])
  await clock.advance(60_000)
  expect(records.at(-1)).toMatchObject({ reason: 'it is expired', times: 1 })
})

test('settings of tokens reach those that are issued', async () => {
  const flags = ['--service-account-issuer=https://a,https://b', '--api-audiences=orch,vault']
  const { identity } = await open(
    newFolder(),
    ...flags,
    '--service-account-max-token-expiration=2h',
    '--service-account-jwks-uri=https://keys.example/jwks',
  )
  const { token } = await identity.options.issuer!.issue(REQUEST)
  expect(decodeJwt(token).iss).toBe('https://a')
  expect(identity.options).toMatchObject({
    issuers: ['https://a', 'https://b'],
    audiences: ['orch', 'vault'],
    maxTokenLifetime: 7200,
    jwksUri: 'https://keys.example/jwks',
  })
})
