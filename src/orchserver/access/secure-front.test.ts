import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { expect, it, onTestFinished } from 'vitest'
import { createApiServer } from '../../apiserver/api-server.ts'
import type { IpAddress } from '../../lib/ip.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { createMemoryStore } from '../../storage/memory-store.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { openAuthority } from '../certificates/authority.ts'
import { adminCertificate } from '../certificates/client-certificate.ts'
import { type CertificateSource, madeCertificate } from '../certificates/serving-certificate.ts'
import type { Followed } from '../identity/followed-files.ts'
import { newFolder } from '../testing/new-folder.ts'
import { openSecureFront } from './secure-front.ts'

const NAMES = { dns: ['localhost'], ips: ['127.0.0.1'] }
const DAY = 86_400_000

/** A server whose log can be awaited. */
async function open(given?: CertificateSource) {
  const folder = newFolder()
  const kubeconfig = join(folder, 'admin.kubeconfig')
  const clock = new FakeClock(Date.now())
  const server = createApiServer({ store: createMemoryStore() })
  onTestFinished(() => server.close())
  let record = (_text: string): void => undefined
  const stream = { write: (line: string) => record((JSON.parse(line) as { msg: string }).msg) }
  const log = await createLogger({ verbosity: 0, pretty: false, stream })
  const source = given ?? madeCertificate({ folder, names: NAMES, clock })
  const address = { host: '127.0.0.1', port: 0 }
  const advertised = '127.0.0.1' as IpAddress
  const ca = await openAuthority(folder, clock.now())
  const listeners: ((next: string) => void)[] = []
  const clientAuthorities: Followed<string> = {
    current: () => ca.cert,
    onChange: (listener) => void listeners.push(listener),
    stop: () => undefined,
  }
  const admin = adminCertificate({ folder, clock })
  const front = await openSecureFront({
    server,
    address,
    advertised,
    clientAuthorities,
    source,
    admin,
    kubeconfig,
    clock,
    log,
  })
  const logged = (change: () => Promise<void>): Promise<string> =>
    new Promise((resolve) => {
      record = resolve
      void change()
    })
  return { folder, kubeconfig, clock, front, logged }
}

/** A client that trusts this authority. */
async function connected(url: string, folder: string) {
  return connectedBy(url, readFileSync(join(folder, 'ca.crt'), 'utf8'))
}

async function connectedBy(url: string, ca: string) {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), ca })
  onTestFinished(() => void socket.destroy())
  await once(socket, 'secureConnect')
  return { socket, serial: socket.getPeerCertificate().serialNumber }
}

/** The serial number that the server shows. */
async function shown(url: string, folder: string): Promise<string> {
  return (await connected(url, folder)).serial
}

async function answerOf(socket: TLSSocket): Promise<string> {
  const answered = once(socket, 'data')
  socket.write('GET /livez HTTP/1.1\r\nHost: test\r\n\r\n')
  return String((await answered)[0])
}

function serialOf(folder: string): string {
  return new X509Certificate(readFileSync(join(folder, 'server.crt'))).serialNumber
}

it('serves and publishes a renewed certificate without a restart', async () => {
  const { folder, kubeconfig, clock, front, logged } = await open()
  const first = serialOf(folder)
  expect(await shown(front.url, folder)).toBe(first)
  const recorded = readFileSync(kubeconfig, 'utf8')
  const { socket } = await connected(front.url, folder)
  for (const name of ['ca.crt', 'ca.key']) rmSync(join(folder, name))
  expect(await logged(() => clock.advance(DAY))).toBe('the serving certificate was renewed')
  expect(serialOf(folder)).not.toBe(first)
  expect(await shown(front.url, folder)).toBe(serialOf(folder))
  expect(await answerOf(socket)).toMatch(/^HTTP\/1.1 200/)
  expect(readFileSync(kubeconfig, 'utf8')).not.toBe(recorded)
  expect(readFileSync(kubeconfig, 'utf8')).toContain(
    btoa(readFileSync(join(folder, 'ca.crt'), 'utf8')),
  )
})

it('logs the renewal of the serving certificate after a kubeconfig that could not be written', async () => {
  const { folder, kubeconfig, clock, logged } = await open()
  for (const name of ['ca.crt', 'ca.key']) rmSync(join(folder, name))
  rmSync(kubeconfig)
  mkdirSync(kubeconfig)
  expect(await logged(() => clock.advance(DAY))).toBe('the kubeconfig could not be written')
  rmSync(kubeconfig, { recursive: true })
  expect(await logged(() => clock.advance(DAY))).toBe('the serving certificate was renewed')
})

it('serves with the certificate before when there is no other', async () => {
  const { folder, clock, front, logged } = await open()
  rmSync(join(folder, 'ca.key'))
  expect(await logged(() => clock.advance(DAY))).toMatch(/could not be renewed/)
  expect(await shown(front.url, folder)).toBe(serialOf(folder))
})

it('publishes a renewed certificate of the administrator, also beside a given serving certificate', async () => {
  const names = { folder: newFolder(), names: NAMES, clock: new FakeClock(Date.now()) }
  const given = await madeCertificate(names).current()
  const { folder, kubeconfig, clock, logged } = await open({ current: async () => given })
  const first = readFileSync(join(folder, 'admin.crt'), 'utf8')
  expect(readFileSync(kubeconfig, 'utf8')).toContain(btoa(first))
  rmSync(join(folder, 'admin.crt'))
  expect(await logged(() => clock.advance(DAY))).toBe(
    'the certificate of the administrator was renewed',
  )
  const next = readFileSync(join(folder, 'admin.crt'), 'utf8')
  expect(next).not.toBe(first)
  expect(readFileSync(kubeconfig, 'utf8')).toContain(btoa(next))
})

it('renews a given serving certificate although that of the administrator cannot be', async () => {
  const names = { folder: newFolder(), names: NAMES, clock: new FakeClock(Date.now()) }
  let given = await madeCertificate(names).current()
  const { folder, front, clock, logged } = await open({ current: async () => given })
  rmSync(join(folder, 'ca.key'))
  given = await madeCertificate({ ...names, folder: newFolder() }).current()
  expect(await logged(() => clock.advance(DAY))).toMatch(/administrator could not be renewed/)
  expect(await logged(async () => undefined)).toMatch(/serving certificate was renewed/)
  await expect
    .poll(async () => (await connectedBy(front.url, given.authority!)).serial)
    .toBe(new X509Certificate(given.cert).serialNumber)
})
