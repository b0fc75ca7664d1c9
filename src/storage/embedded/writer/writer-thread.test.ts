import { join } from 'node:path'
import { expect, test } from 'vitest'
import { put } from '../../testing/conformance-steps.ts'
import { newDirectory } from '../testing/fixtures.ts'
import { startWriter } from './writer-thread.ts'

test('an error of the thread keeps code, object and hint', async () => {
  const file = join(newDirectory(), 'missing', 'store.sqlite')
  await expect(startWriter({ file, now: 0 })).rejects.toMatchObject({
    code: 'NP_STORAGE_OPEN',
    object: file,
    hint: expect.stringContaining('directory'),
  })
})

test('a command to a thread that has ended is rejected at once', async () => {
  const writer = await startWriter({ file: join(newDirectory(), 'store.sqlite'), now: 0 })
  await writer.end()
  const group = [{ compare: [], operations: [put('/a', 'x')] }]
  await expect(writer.execute({ do: 'commit', group })).rejects.toMatchObject({
    code: 'NP_STORAGE_WRITER',
  })
})
