import { describe, expect, test } from 'vitest'
import { openSyscalls } from '../../../kernel/sockets/syscalls.ts'
import { openForwarder } from '../pool/open-forwarder.ts'
import { describeDataPath } from './conformance.ts'
import { LIMITS } from './conformance-fixtures.ts'

describe('javascript', () => {
  describeDataPath('javascript', openForwarder)
})

describe.skipIf(openSyscalls() === undefined)('native', () => {
  describeDataPath('native', openForwarder)
})

test('redirected packets need the native data path', async () => {
  const options = {
    workers: 1,
    families: [4] as const,
    limits: LIMITS,
    mark: 0,
    onLost: () => undefined,
  }
  const opening = openForwarder({ ...options, dataPath: 'javascript', listening: 'transparent' })
  await expect(opening).rejects.toMatchObject({
    code: 'NP_USERSPACE_DATA_PATH',
    hint: expect.stringContaining('native'),
  })
})
