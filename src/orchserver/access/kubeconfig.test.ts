import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadKubeconfig } from '../../client/connection/kubeconfig.ts'
import { systemClock } from '../../lib/clock.ts'
import { madeCertificate } from '../certificates/made-certificate.ts'
import { writePrivateFile } from '../system/private-file.ts'
import { newFolder } from '../testing/new-folder.ts'
import { writeKubeconfig } from './kubeconfig.ts'

const server = 'https://127.0.0.1:6443'

it('leads clients to the server, with its authority, for this user only', async () => {
  const folder = newFolder()
  const names = { dns: ['a'], ips: ['127.0.0.1'] }
  const { authority } = await madeCertificate({ folder, names, clock: systemClock }).current()
  const path = join(folder, 'sub', 'admin.kubeconfig')
  await writeKubeconfig(path, { server, authority })
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const connection = await loadKubeconfig({ path, master: undefined, clock: systemClock })
  expect(connection.origin).toBe(server)
  expect(await connection.tls?.material()).toMatchObject({ ca: authority })
})

it('is written again, and leaves alone what somebody else wrote', async () => {
  const path = join(newFolder(), 'config')
  await writeKubeconfig(path, { server, authority: undefined })
  await writeKubeconfig(path, { server: 'https://[::1]:1', authority: undefined })
  expect(readFileSync(path, 'utf8')).toContain('https://[::1]:1')
  writeFileSync(path, 'apiVersion: v1\n')
  await expect(writeKubeconfig(path, { server, authority: undefined })).rejects.toMatchObject({
    code: 'NP_ORCHSERVER_KUBECONFIG',
    object: path,
  })
  expect(readFileSync(path, 'utf8')).toBe('apiVersion: v1\n')
})

it.each(['/dev/full', '/'])('is never written to %s, which is no regular file', async (path) => {
  await expect(writeKubeconfig(path, { server, authority: undefined })).rejects.toMatchObject({
    code: 'NP_ORCHSERVER_KUBECONFIG',
    message: `${path} is no regular file`,
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
