import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { endLeftovers } from '../node-agent.ts'
import { hasMark, podMark } from './launch.ts'

const OWN = `np-test-${process.pid}`

function start(variables: Readonly<Record<string, string>>, command = ['sleep', '1000']) {
  const [program = '', ...args] = command
  const env = { PATH: process.env['PATH'], ...variables }
  const child = spawn(program, args, { env, detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

function marked(prefix: string, command?: string[]): ChildProcess {
  return start(Object.fromEntries([podMark(prefix, 'u1')]), command)
}

test('ends what carries the mark of its prefix, and no other process', async () => {
  const others = [start({}), marked(`${OWN}-2`), start({ OTHER: `ORCH_POD=${OWN}/u1` })]
  const parent = marked(OWN, ['sh', '-c', 'setsid sh -c "echo; sleep 1000" & wait'])
  await once(parent.stdout!, 'data')
  const gone = once(parent, 'close')
  await endLeftovers(OWN, systemClock)
  await gone
  expect(others.map(({ exitCode, signalCode }) => exitCode ?? signalCode)).toEqual([
    null,
    null,
    null,
  ])
})

test('is patient for so long', async () => {
  const clock = new FakeClock()
  const ending = endLeftovers(OWN, clock).catch((error: unknown) => String(error))
  await clock.advance(5_000)
  expect(await ending).toContain('do not end')
})

test('a mark is a variable of its own', () => {
  const [name, value] = podMark('orch-pod', 'u1')
  expect(hasMark(`PATH=/bin\0${name}=${value}\0`, 'orch-pod')).toBe(true)
  expect(hasMark(`${name}=${value}\0`, 'orch-pod')).toBe(true)
  expect(hasMark(`A=${name}=${value}\0`, 'orch-pod')).toBe(false)
  expect(hasMark(`${name}=${value}\0`, 'orch')).toBe(false)
  expect(hasMark('', 'orch-pod')).toBe(false)
})
