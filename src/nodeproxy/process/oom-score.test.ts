import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { setOomScore } from './process-settings.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oom-'))
})
afterEach(() => rm(folder, { recursive: true }))

it('writes the score', async () => {
  const file = join(folder, 'oom_score_adj')
  await writeFile(file, '0\n')
  expect(await setOomScore(-999, file)).toBeUndefined()
  expect(await readFile(file, 'utf8')).toBe('-999')
})

it('writes nothing that is so already', async () => {
  const file = join(folder, 'oom_score_adj')
  await writeFile(file, '-5\n')
  expect(await setOomScore(-5, file)).toBeUndefined()
  expect(await readFile(file, 'utf8')).toBe('-5\n')
})

it('turns a refusal into a value with a remedy', async () => {
  expect(await setOomScore(0, join(folder, 'none'))).toMatchObject({
    code: 'NP_NODEPROXY_OOM_SCORE',
    message: expect.stringContaining('ENOENT'),
    hint: expect.stringContaining('CAP_SYS_RESOURCE'),
  })
})
