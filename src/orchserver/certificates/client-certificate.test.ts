import { X509Certificate } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newFolder } from '../testing/new-folder.ts'
import { adminCertificate } from './client-certificate.ts'
import { issueClient } from './issue.ts'
import { newKey } from './pem.ts'

const DAY = 86_400_000
const START = Date.UTC(2030, 0, 1)

/** The certificate of a folder at a day after the start. */
function at(folder: string, day: number) {
  return adminCertificate({ folder, clock: { now: () => START + day * DAY } }).current()
}

/** Puts a certificate of another user, or another life, in its place. */
async function plant(folder: string, user: string, groups: readonly string[], day = 0) {
  const issuer = {
    subject: new X509Certificate(readFileSync(join(folder, 'ca.crt'))).subject,
    key: readFileSync(join(folder, 'ca.key'), 'utf8'),
  }
  const key = newKey()
  const cert = await issueClient({ issuer, key, user, groups, life: 365 * DAY }, START + day * DAY)
  writeFileSync(join(folder, 'admin.key'), key)
  writeFileSync(join(folder, 'admin.crt'), cert)
  return cert
}

describe('the certificate of the administrator', () => {
  it('is that of a client, of system:masters, for a year', async () => {
    const folder = newFolder()
    const { cert, key } = await at(folder, 0)
    const parsed = new X509Certificate(cert)
    const root = new X509Certificate(readFileSync(join(folder, 'ca.crt')))
    expect(parsed.subject).toBe('CN=orch-admin\nO=system:masters')
    expect([parsed.ca, parsed.keyUsage]).toEqual([false, ['1.3.6.1.5.5.7.3.2']])
    expect(parsed.checkIssued(root) && parsed.verify(root.publicKey)).toBe(true)
    expect(parsed.validToDate.getTime() - START).toBe(365 * DAY)
    expect(readFileSync(join(folder, 'admin.crt'), 'utf8')).toBe(cert)
    expect(readFileSync(join(folder, 'admin.key'), 'utf8')).toBe(key)
  })

  it('is kept for this user only', async () => {
    const folder = join(newFolder(), 'pki')
    await at(folder, 0)
    expect(readdirSync(folder).toSorted()).toEqual(['admin.crt', 'admin.key', 'ca.crt', 'ca.key'])
    for (const name of readdirSync(folder)) {
      expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
    }
  })

  it('stays until a third of its life is left', async () => {
    const folder = newFolder()
    const first = await at(folder, 0)
    expect(await at(folder, 243)).toEqual(first)
    const next = await at(folder, 244)
    expect(next.cert).not.toBe(first.cert)
    expect(next.key).not.toBe(first.key)
    expect(await at(folder, 244)).toEqual(next)
  })

  it('stays where it was planted as it has to be', async () => {
    const folder = newFolder()
    await at(folder, 0)
    const planted = await plant(folder, 'orch-admin', ['system:masters'])
    expect((await at(folder, 0)).cert).toBe(planted)
  })

  it.each([
    ['another user', 'eve', ['system:masters'], 0],
    ['another group', 'orch-admin', ['dev'], 0],
    ['no group', 'orch-admin', [], 0],
    ['more groups', 'orch-admin', ['system:masters', 'dev'], 0],
    ['a group in its name', 'orch-admin\nO=system:masters', [], 0],
    ['a life that is over', 'orch-admin', ['system:masters'], -400],
  ])('is made anew where it has %s', async (_name, user, groups, day) => {
    const folder = newFolder()
    await at(folder, 0)
    const planted = await plant(folder, user, groups, day)
    expect((await at(folder, 0)).cert).not.toBe(planted)
  })

  it('is made anew where the authority did not sign what it says', async () => {
    const folder = newFolder()
    const signed = new X509Certificate((await at(folder, 0)).cert).raw
    signed[signed.length - 1]! ^= 1
    const forged = `-----BEGIN CERTIFICATE-----\n${signed.toString('base64')}\n-----END CERTIFICATE-----\n`
    writeFileSync(join(folder, 'admin.crt'), forged)
    expect((await at(folder, 0)).cert).not.toBe(forged)
  })

  it('is made anew for another authority, and where the key is that of another', async () => {
    const folder = newFolder()
    const first = await at(folder, 0)
    for (const name of ['ca.crt', 'ca.key']) rmSync(join(folder, name))
    const second = await at(folder, 0)
    expect(second.cert).not.toBe(first.cert)
    writeFileSync(join(folder, 'admin.key'), first.key)
    const third = await at(folder, 0)
    expect(third.cert).not.toBe(second.cert)
    expect(new X509Certificate(third.cert).ca).toBe(false)
  })

  it('is refused where the authority lost its key', async () => {
    const folder = newFolder()
    await at(folder, 0)
    rmSync(join(folder, 'ca.key'))
    await expect(at(folder, 0)).rejects.toMatchObject({
      code: 'NP_ORCHSERVER_CERTIFICATE',
      message: expect.stringContaining('ca.key does not exist'),
    })
  })
})
