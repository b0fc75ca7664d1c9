import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const generated = 'src/inspection/generated/inspection_pb.ts'

test('generated/ is what `npm run generate` makes of proto/inspection', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'np-generated-'))
  const env = { ...process.env, PATH: `${join(root, 'node_modules/.bin')}:${process.env['PATH']}` }
  const args = [
    'generate',
    '--template',
    'buf.gen.inspection.yaml',
    '--output',
    join(folder, 'proto'),
  ]
  await promisify(execFile)('buf', args, { cwd: join(root, 'proto'), env })
  const [fresh, committed] = [
    await readFile(join(folder, generated)),
    await readFile(join(root, generated)),
  ]
  await rm(folder, { recursive: true })
  expect(String(committed)).toBe(String(fresh))
})
