import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const SCRIPT = new URL('./testing/refused.script.ts', import.meta.url).pathname
const NODE = [process.execPath, '--disable-warning=ExperimentalWarning', SCRIPT]
const isRoot = process.getuid?.() === 0

test('without the right for packet sockets it is refused, and leaves no descriptor open', async () => {
  const [program = '', ...args] = isRoot ? ['setpriv', '--bounding-set=-net_raw', ...NODE] : NODE
  const { stdout } = await promisify(execFile)(program, args)
  expect(stdout).toBe(
    'addresses cannot be announced: cannot open a packet socket: EPERM; 0 descriptors left\n',
  )
})
