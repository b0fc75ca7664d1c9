import { expect, onTestFinished, test, vi } from 'vitest'

test('the error says why no process could be started for a mount namespace', async () => {
  onTestFinished(() => void vi.unstubAllEnvs())
  vi.stubEnv('PATH', '/none')
  const { mountForContainer } = await import('./container-mounts.ts')
  const tools = { folderOf: () => '/none', scratch: '/none' }
  await expect(mountForContainer([], tools)).rejects.toMatchObject({
    code: 'NP_NODEAGENT_MOUNT',
    message: 'no mount namespace could be made: spawn unshare ENOENT',
  })
})
