import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../../..')
const generated = 'src/storage/etcd/generated/etcd_pb.ts'

test('generated/ is what `npm run generate` makes of proto/etcd', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'np-generated-'))
  const bin = join(root, 'node_modules/.bin')
  const env = { ...process.env, PATH: `${bin}:${process.env['PATH']}` }
  await promisify(execFile)('buf', ['generate', '--output', join(folder, 'proto')], {
    cwd: join(root, 'proto'),
    env,
  })
  const [fresh, committed] = [
    await readFile(join(folder, generated)),
    await readFile(join(root, generated)),
  ]
  await rm(folder, { recursive: true })
  expect(String(committed)).toBe(String(fresh))
})
