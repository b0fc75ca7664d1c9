import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { IpAddress } from '../../lib/ip.ts'
import { newFolder } from '../testing/new-folder.ts'
import { certificateNames } from './certificate-names.ts'
import { madeCertificate, type ServingCertificate } from './serving-certificate.ts'

const DAY = 86_400_000
const START = Date.UTC(2030, 0, 1)
const SOURCES = {
  hostname: 'Node-1',
  address: '127.0.0.2' as IpAddress,
  serviceAddresses: ['10.96.0.1' as IpAddress, 'fd00:96::1' as IpAddress],
  extraNames: ['*.example.org', '192.0.2.1', 'orch'],
}

/** The certificate of a folder at a day after the start. */
function at(folder: string, day: number, extraNames = SOURCES.extraNames) {
  const names = certificateNames({ ...SOURCES, extraNames })
  const clock = { now: () => START + day * DAY, after: () => () => undefined }
  return madeCertificate({ folder, names, clock }).current()
}

function parse({ cert, authority }: ServingCertificate) {
  return { server: new X509Certificate(cert), root: new X509Certificate(authority!) }
}

describe('a certificate that is made', () => {
  it('is for every name by which the server is called', async () => {
    const { server } = parse(await at(newFolder(), 0))
    expect(server.subjectAltName?.split(', ').toSorted()).toEqual(
      [
        ...['localhost', 'node-1', '*.example.org'].map((name) => `DNS:${name}`),
        ...['orch', 'kubernetes'].flatMap((name) =>
          ['', '.default', '.default.svc', '.default.svc.cluster.local'].map(
            (rest) => `DNS:${name}${rest}`,
          ),
        ),
        '127.0.0.1',
        '0:0:0:0:0:0:0:1',
        '127.0.0.2',
        '10.96.0.1',
        '192.0.2.1',
        'FD00:96:0:0:0:0:0:1',
      ]
        .map((name) => (name.startsWith('DNS:') ? name : `IP Address:${name}`))
        .toSorted(),
    )
  })

  it('is for servers, and its authority for nothing but to sign', async () => {
    const made = await at(newFolder(), 0)
    const { server, root } = parse(made)
    expect([server.ca, server.keyUsage]).toEqual([false, ['1.3.6.1.5.5.7.3.1']])
    expect(root.ca).toBe(true)
    expect(server.checkIssued(root) && server.verify(root.publicKey)).toBe(true)
    expect(server.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' })
    expect(server.validToDate.getTime() - START).toBe(365 * DAY)
    expect(root.validToDate.getTime() - START).toBe(3650 * DAY)
    expect(server.validFromDate.getTime()).toBeLessThan(START)
  })

  it('is kept for this user only', async () => {
    const folder = join(newFolder(), 'pki')
    await at(folder, 0)
    const modes = readdirSync(folder).map((name) => [
      name,
      statSync(join(folder, name)).mode & 0o777,
    ])
    expect(Object.fromEntries(modes)).toEqual({
      'ca.crt': 0o600,
      'ca.key': 0o600,
      'server.crt': 0o600,
      'server.key': 0o600,
    })
    expect(statSync(folder).mode & 0o777).toBe(0o700)
  })

  it('stays until a third of its life is left', async () => {
    const folder = newFolder()
    const first = await at(folder, 0)
    expect(await at(folder, 243)).toEqual(first)
    const next = await at(folder, 244)
    expect(next.authority).toBe(first.authority)
    expect(next.key).not.toBe(first.key)
    expect(parse(next).server.validToDate.getTime()).toBe(START + (244 + 365) * DAY)
    expect(await at(folder, 244)).toEqual(next)
  })

  it('is made anew for a clock that went back', async () => {
    const folder = newFolder()
    const { cert } = await at(folder, 0)
    expect((await at(folder, -1)).cert).not.toBe(cert)
  })

  it.each([
    ['one more', [...SOURCES.extraNames, 'new.example.org']],
    ['one less', SOURCES.extraNames.slice(1)],
    ['another one', ['new.example.org', ...SOURCES.extraNames.slice(1)]],
    ['another address', ['*.example.org', '192.0.2.2', 'orch']],
  ])('is made anew for %s', async (_name, extraNames) => {
    const folder = newFolder()
    const first = await at(folder, 0)
    const next = await at(folder, 0, extraNames)
    expect(next.cert).not.toBe(first.cert)
    expect(next.authority).toBe(first.authority)
    expect(await at(folder, 0, extraNames)).toEqual(next)
  })

  it('is made anew where a crash left the key of another', async () => {
    const folder = newFolder()
    const first = await at(folder, 0)
    await at(folder, 300)
    writeFileSync(join(folder, 'server.crt'), first.cert)
    const next = await at(folder, 0)
    expect(
      new X509Certificate(next.cert).publicKey.export({ type: 'spki', format: 'pem' }),
    ).not.toBe(new X509Certificate(first.cert).publicKey.export({ type: 'spki', format: 'pem' }))
  })
})

describe('its authority', () => {
  it('is renewed with the same key, so that clients of the old one go on', async () => {
    const folder = newFolder()
    const first = await at(folder, 0)
    const next = await at(folder, 2500)
    expect(next.authority).not.toBe(first.authority)
    const { server, root } = parse(next)
    const old = parse(first).root
    expect(root.subject).toBe(old.subject)
    expect(server.checkIssued(old) && server.verify(old.publicKey)).toBe(true)
  })

  it('that lost its certificate before it was ever used gets one', async () => {
    const folder = newFolder()
    await at(folder, 0)
    for (const name of ['ca.crt', 'server.crt', 'server.key']) rmSync(join(folder, name))
    const { server, root } = parse(await at(folder, 0))
    expect(server.verify(root.publicKey)).toBe(true)
  })

  it('that is another one now makes another certificate', async () => {
    const folder = newFolder()
    const first = await at(folder, 0)
    for (const name of ['ca.crt', 'ca.key']) rmSync(join(folder, name))
    const { server, root } = parse(await at(folder, 0))
    expect(root.subject).not.toBe(parse(first).root.subject)
    expect(server.checkIssued(root) && server.verify(root.publicKey)).toBe(true)
  })

  it('without its key, or with another, is refused', async () => {
    const [folder, other] = [newFolder(), newFolder()]
    await at(folder, 0)
    await at(other, 0)
    writeFileSync(join(folder, 'ca.key'), readFileSync(join(other, 'ca.key')))
    const refused = { code: 'NP_ORCHSERVER_CERTIFICATE', hint: expect.stringContaining('ca.key') }
    await expect(at(folder, 0)).rejects.toMatchObject(refused)
    rmSync(join(folder, 'ca.key'))
    await expect(at(folder, 0)).rejects.toMatchObject(refused)
    expect(readdirSync(folder)).not.toContain('ca.key')
  })

  it('of a kind that nothing can be issued with is refused', async () => {
    const folder = newFolder()
    await at(folder, 0)
    for (const name of ['ca.crt', 'server.crt']) rmSync(join(folder, name))
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' })
    for (const key of [privateKey.export({ type: 'pkcs8', format: 'pem' }), 'nonsense']) {
      writeFileSync(join(folder, 'ca.key'), key)
      await expect(at(folder, 0)).rejects.toMatchObject({
        code: 'NP_ORCHSERVER_CERTIFICATE',
        message: expect.stringContaining('holds no private key of P-256'),
      })
    }
  })

  it('in a folder that is none is refused', async () => {
    const file = join(newFolder(), 'file')
    writeFileSync(file, '')
    chmodSync(file, 0o600)
    await expect(at(join(file, 'pki'), 0)).rejects.toMatchObject({
      code: expect.stringMatching(/^NP_ORCHSERVER_(FILE|CERTIFICATE)$/),
    })
  })
})
