import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { newFolder } from '../testing/new-folder.ts'
import { givenCertificate, madeCertificate } from './serving-certificate.ts'

const NAMES = { dns: ['a'], ips: ['127.0.0.1'] }

async function given() {
  const folder = newFolder()
  await madeCertificate({ folder, names: NAMES, clock: systemClock }).current()
  const [cert, key] = [join(folder, 'server.crt'), join(folder, 'server.key')]
  return { folder, cert, key, source: givenCertificate(cert, key) }
}

it('is served as it is, and again when its files change', async () => {
  const { cert, key, source } = await given()
  const text = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
  expect(await source.current()).toEqual({ ...text, authority: undefined })
  const next = await given()
  for (const name of ['cert', 'key'] as const)
    writeFileSync({ cert, key }[name], readFileSync(next[name]))
  expect((await source.current()).cert).toBe(readFileSync(next.cert, 'utf8'))
})

it('gives clients the root, where the chain holds it', async () => {
  const { folder, cert, source } = await given()
  const root = readFileSync(join(folder, 'ca.crt'), 'utf8')
  writeFileSync(cert, readFileSync(cert, 'utf8') + root)
  expect((await source.current()).authority).toBe(root.trim())
})

it.each([
  ['of which one does not exist', (key: string) => `${key}.none`, 'does not exist'],
  [
    'of which one is no key',
    (key: string) => key.replace('.key', '.crt'),
    'holds no private key in PEM',
  ],
])('two files %s are refused', async (_name, change, message) => {
  const { cert, key } = await given()
  await expect(givenCertificate(cert, change(key)).current()).rejects.toMatchObject({
    code: 'NP_ORCHSERVER_CERTIFICATE',
    message: expect.stringContaining(message),
  })
})

const LOCKED = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
  cipher: 'aes-256-cbc',
  passphrase: 'x',
})

it.each([
  ['cert', 'nothing', () => '', 'holds no certificate in PEM'],
  ['cert', 'a chain that was cut', (text: string) => text + text.slice(0, 300), 'damaged'],
  ['cert', 'another block of base64', (text: string) => text.replace('MI', 'AA'), 'damaged'],
  ['key', 'a passphrase', () => LOCKED, 'with a passphrase'],
  ['key', 'half a key', (text: string) => text.slice(0, 100), 'damaged'],
] as const)('a %s with %s is refused', async (which, _name, change, message) => {
  const { cert, key, source } = await given()
  const path = { cert, key }[which]
  writeFileSync(path, change(readFileSync(path, 'utf8')))
  await expect(source.current()).rejects.toMatchObject({
    code: 'NP_ORCHSERVER_CERTIFICATE',
    message: expect.stringMatching(new RegExp(`^${path} .*${message}`)),
  })
})
