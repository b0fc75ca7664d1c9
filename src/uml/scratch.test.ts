import { expect, test } from 'vitest'
import { findMemoryFolder, isNoExec } from './scratch.ts'

const table = `/dev/vda / ext4 rw,relatime 0 0
tmpfs /dev tmpfs rw,noexec 0 0
tmpfs /dev/shm tmpfs rw,relatime 0 0
tmpfs /tmp tmpfs rw,nosuid,noexec 0 0
`

test.each([
  ['/tmp', true],
  ['/tmp/deeper', true],
  ['/tmpfiles', false],
  ['/dev/shm', false],
  ['/dev/other', true],
  ['/var/tmp', false],
])('%s noexec: %s', (folder, expected) => {
  expect(isNoExec(folder, table)).toBe(expected)
})

test('a mount over another one counts', () => {
  expect(isNoExec('/tmp', `${table}tmpfs /tmp tmpfs rw 0 0\n`)).toBe(false)
})

test('names the folders it tried when none has space', async () => {
  await expect(findMemoryFolder(1e12)).rejects.toMatchObject({
    code: 'NP_UML_MEMORY',
    message: expect.stringContaining('/dev/shm'),
  })
})
