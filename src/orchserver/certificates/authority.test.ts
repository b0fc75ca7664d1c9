import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { newFolder } from '../testing/new-folder.ts'
import { openAuthority } from './authority.ts'
import { issueServer } from './issue.ts'
import { newKey } from './pem.ts'

it('is the same one for all that make it at the same time', async () => {
  const folder = join(newFolder(), 'pki')
  const opened = await Promise.all(
    Array.from({ length: 8 }, () => openAuthority(folder, Date.now())),
  )
  const cert = readFileSync(join(folder, 'ca.crt'), 'utf8')
  const key = readFileSync(join(folder, 'ca.key'), 'utf8')
  for (const authority of opened) expect(authority).toMatchObject({ cert, key })
})

const YEAR = 365 * 86_400_000

/** An authority whose file holds the certificate of another one, too. */
async function beside() {
  const [folder, other] = [newFolder(), newFolder()]
  const now = Date.UTC(2030, 0, 1)
  const own = await openAuthority(folder, now)
  const next = await openAuthority(other, now)
  appendFileSync(join(folder, 'ca.crt'), next.cert)
  return { folder, own, next, now }
}

it('issues by the first certificate of its file, and has clients trust all of them', async () => {
  const { folder, own, next, now } = await beside()
  const opened = await openAuthority(folder, now)
  expect(opened.cert).toBe(own.cert + next.cert)
  expect(opened.certificate.raw).toEqual(own.certificate.raw)
})

it('keeps the others when its own certificate is renewed', async () => {
  const { folder, own, next, now } = await beside()
  const renewed = await openAuthority(folder, now + 8 * YEAR)
  expect(renewed.certificate.subject).toBe(own.certificate.subject)
  expect(renewed.certificate.raw).not.toEqual(own.certificate.raw)
  expect(renewed.cert).toContain(next.cert.trimEnd())
  expect(renewed.cert).not.toContain(own.cert.trimEnd())
  expect(readFileSync(join(folder, 'ca.crt'), 'utf8')).toBe(renewed.cert)
})

it('refuses a further certificate that is damaged', async () => {
  const { folder, now } = await beside()
  const path = join(folder, 'ca.crt')
  writeFileSync(path, readFileSync(path, 'utf8').slice(0, -60))
  await expect(openAuthority(folder, now)).rejects.toMatchObject({
    code: 'NP_ORCHSERVER_CERTIFICATE',
    message: expect.stringContaining('damaged') as string,
  })
})

/** The common name `ours` as a UTF8String, in DER. */
const NAME_OF_OPENSSL = '\x06\x03\x55\x04\x03\x0c\x04ours'

it.each([0, 8 * YEAR])(
  'writes the name of an authority of openssl as it is, %i ms later',
  async (later) => {
    const folder = newFolder()
    const now = Date.now()
    const key = join(folder, 'ca.key')
    execFileSync('openssl', ['ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', key])
    const [names, days] = [{ dns: ['a'], ips: [] }, '3650']
    const out = ['-days', days, '-subj', '/CN=ours', '-key', key, '-out', join(folder, 'ca.crt')]
    execFileSync('openssl', ['req', '-x509', '-new', ...out])
    const made = await openAuthority(folder, now)
    const opened = await openAuthority(folder, now + later)
    expect(opened.certificate.raw.equals(made.certificate.raw)).toBe(later === 0)
    const server = new X509Certificate(
      await issueServer({ issuer: opened, key: newKey(), names }, now + later),
    )
    const shown = [made.certificate, opened.certificate, server].map(
      ({ raw }) => raw.toString('latin1').split(NAME_OF_OPENSSL).length - 1,
    )
    expect(shown).toEqual([2, 2, 1])
  },
)
