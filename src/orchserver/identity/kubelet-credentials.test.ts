import { X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { newTestAuthority } from '../../../test/support/certificates/test-authority.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { KubeletConfiguration } from '../config/configuration.ts'
import { newFolder } from '../testing/new-folder.ts'
import { followKubeletCredentials } from './kubelet-credentials.ts'

const log = { info: () => undefined, error: () => undefined }
const EMPTY: KubeletConfiguration = {
  clientCertFile: '',
  clientKeyFile: '',
  caFile: '',
  preferredAddressTypes: ['InternalIP'],
  certificateDuration: 0,
}

async function start(kubelet: Partial<KubeletConfiguration> = {}, dataDir = newFolder()) {
  const clock = new FakeClock(Date.now())
  const config = { dataDir, kubelet: { ...EMPTY, ...kubelet } }
  const followed = await followKubeletCredentials(config, { clock, log: log as never })
  onTestFinished(() => followed.stop())
  return { clock, current: followed.current }
}

function fileWith(text: string): string {
  const path = join(newFolder(), 'file.pem')
  writeFileSync(path, text)
  return path
}

test('without files the server has a certificate of its own authority, and pins those of kubelets', async () => {
  const { current } = await start()
  const { cert, authority, isPinning } = current()
  const parsed = new X509Certificate(cert)
  expect(parsed.subject).toBe('CN=system:orch-server-kubelet-client')
  expect(parsed.verify(new X509Certificate(authority).publicKey)).toBe(true)
  expect(isPinning).toBe(true)
})

test('an authority that is given alone counts, and a changed file is taken over', async () => {
  const [one, other] = [await newTestAuthority('one'), await newTestAuthority('other')]
  const caFile = fileWith(one.cert)
  const { current, clock } = await start({ caFile })
  expect(current()).toMatchObject({ authority: one.cert, isPinning: false })
  writeFileSync(caFile, other.cert)
  await clock.advance(10_000)
  await expect.poll(() => current().authority).toBe(other.cert)
})

test('a client certificate that is given is presented', async () => {
  const issued = await (await newTestAuthority('one')).client('admin')
  const files = { clientCertFile: fileWith(issued.cert), clientKeyFile: fileWith(issued.key) }
  const { current } = await start(files)
  expect(current()).toMatchObject({ ...issued, isPinning: true })
})

test('files that cannot be used are an error with the flag', async () => {
  const authority = await newTestAuthority('one')
  const [a, b] = [await authority.client('a'), await authority.client('b')]
  const [cert, key] = [fileWith(a.cert), fileWith(b.key)]
  await expect(start({ clientCertFile: cert, clientKeyFile: key })).rejects.toMatchObject({
    code: 'NP_ORCHSERVER_CERTIFICATE',
    message: expect.stringContaining('do not belong together'),
    hint: expect.stringContaining('--kubelet-client-key'),
  })
  await expect(start({ clientCertFile: key, clientKeyFile: key })).rejects.toMatchObject({
    message: expect.stringContaining('holds no certificate'),
  })
  await expect(start({ caFile: key })).rejects.toMatchObject({
    hint: expect.stringContaining('--kubelet-certificate-authority'),
  })
})
