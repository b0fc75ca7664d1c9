import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadKubeconfig } from '../../client/connection/kubeconfig.ts'
import { systemClock } from '../../lib/clock.ts'
import { adminCertificate } from '../certificates/client-certificate.ts'
import { madeCertificate } from '../certificates/serving-certificate.ts'
import { writePrivateFile } from '../system/private-file.ts'
import { newFolder } from '../testing/new-folder.ts'
import { kubeconfigText, writeKubeconfig } from './kubeconfig.ts'

const server = 'https://127.0.0.1:6443'
const REST = { authority: undefined, user: { name: 'a', credential: { token: 't' } } }

it('leads clients to the server, with its authority, for this user only', async () => {
  const folder = newFolder()
  const names = { dns: ['a'], ips: ['127.0.0.1'] }
  const { authority } = await madeCertificate({ folder, names, clock: systemClock }).current()
  const credential = await adminCertificate({ folder, clock: systemClock }).current()
  const path = join(folder, 'sub', 'admin.kubeconfig')
  await writeKubeconfig(path, { server, authority, user: { name: 'a: b', credential } })
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const connection = await loadKubeconfig({ path, master: undefined, clock: systemClock })
  expect(connection.origin).toBe(server)
  expect(await connection.tls?.material()).toEqual({ ca: authority, ...credential })
  expect(readFileSync(path, 'utf8')).not.toContain('token')
})

it('is written again, and leaves alone the file of another program', async () => {
  const path = join(newFolder(), 'config')
  await writeKubeconfig(path, { server, ...REST })
  await writeKubeconfig(path, { server: 'https://[::1]:1', ...REST })
  expect(readFileSync(path, 'utf8')).toContain('https://[::1]:1')
  writeFileSync(path, 'apiVersion: v1\n')
  await expect(writeKubeconfig(path, { server, ...REST })).rejects.toMatchObject({
    code: 'NP_ORCHSERVER_KUBECONFIG',
    object: path,
  })
  expect(readFileSync(path, 'utf8')).toBe('apiVersion: v1\n')
})

it('replaces the one of a version without users', async () => {
  const path = join(newFolder(), 'config')
  const before =
    '# Written by orch-server at every start.\nusers: [{user: {token: no-authentication-yet}}]\n'
  writeFileSync(path, before)
  await writeKubeconfig(path, { server, ...REST })
  expect(readFileSync(path, 'utf8')).not.toContain('no-authentication-yet')
})

it('carries a token in place of a certificate', async () => {
  const path = join(newFolder(), 'config')
  await writeKubeconfig(path, { server, ...REST })
  const connection = await loadKubeconfig({ path, master: undefined, clock: systemClock })
  expect((await connection.credentials.current()).authorization).toBe('Bearer t')
})

it.each(['/dev/full', '/'])('is never written to %s, which is no regular file', async (path) => {
  await expect(writeKubeconfig(path, { server, ...REST })).rejects.toMatchObject({
    code: 'NP_ORCHSERVER_KUBECONFIG',
    message: `${path} is not a regular file`,
  })
})

it('is refused where its folder cannot be made', async () => {
  const file = join(newFolder(), 'file')
  writeFileSync(file, '')
  await expect(writePrivateFile(join(file, 'sub', 'x'), 'text')).rejects.toMatchObject({
    code: 'NP_ORCHSERVER_FILE',
    message: expect.stringContaining('ENOTDIR'),
  })
})

it('an authority with a comment in any script is written byte for byte', () => {
  const authority = '# the former authority – until 2027\n-----BEGIN CERTIFICATE-----\n'
  const user = { name: 'ann', credential: { token: 't' } }
  const text = kubeconfigText({ server: 'https://192.0.2.1', authority, user })
  const data = /certificate-authority-data: (\S+)/.exec(text)?.[1] ?? ''
  expect(Buffer.from(data, 'base64').toString()).toBe(authority)
})
