import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { arrayAt, valueAt } from '../lib/json.ts'
import { postTo, service } from './testing/test-api.ts'

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))

function run(...args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** The first line of output, or a failure when the process ends without one. */
async function firstLine(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) return line
  throw new Error('the server ended without a word')
}

test('it prints its URL when it is ready and stops on SIGTERM', async () => {
  const child = run(
    '--service-cluster-ip-range',
    '10.7.0.0/16,fd00:7::/112',
    '--service-node-port-range',
    '3000-3100',
  )
  const url = await firstLine(child)
  const spec = { type: 'NodePort', ipFamilyPolicy: 'PreferDualStack' }
  const made = await postTo(`${url}/api/v1/namespaces/default/services`, service('web', spec))
  expect(valueAt(made, 'spec', 'clusterIPs')).toEqual([
    expect.stringMatching(/^10\.7\./),
    expect.stringMatching(/^fd00:7::/),
  ])
  const [port] = arrayAt(made, 'spec', 'ports')
  expect(valueAt(port, 'nodePort')).toBeGreaterThanOrEqual(3000)
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
})

test.each([
  [['--service-node-port-range', '9-5'], '--service-node-port-range "9-5" is not a range'],
  [['--nope'], "Unknown option '--nope'"],
])('%j is refused with the reason', async (args, text) => {
  const child = run(...args)
  const lines: string[] = []
  createInterface({ input: child.stderr! }).on('line', (line) => lines.push(line))
  const [code] = (await once(child, 'close')) as [number]
  expect(code).toBe(1)
  expect(lines.join('\n')).toContain(text)
})
