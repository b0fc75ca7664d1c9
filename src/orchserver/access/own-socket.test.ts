import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { newFolder } from '../testing/new-folder.ts'
import { createComponentTokens } from './component-tokens.ts'
import { openOwnSocket } from './own-socket.ts'

const server = { listen: () => Promise.reject(new Error('permission denied')) }

it('is refused where its path is too long, or taken by what is no socket', async () => {
  const dataDir = newFolder()
  const taken = join(dataDir, 'server.sock')
  mkdirSync(taken)
  for (const [folder, message] of [
    [dataDir, `${taken} cannot be removed: ERR_FS_EISDIR`],
    [join(dataDir, 'x'.repeat(100)), expect.stringContaining('107 bytes')],
  ] as const) {
    const opening = openOwnSocket({
      server,
      dataDir: folder,
      tokens: createComponentTokens(),
      clock: systemClock,
    })
    await expect(opening).rejects.toMatchObject({ code: 'NP_ORCHSERVER_SOCKET', message })
  }
})
