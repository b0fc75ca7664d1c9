import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { NodeProxyError } from '../lib/error.ts'
import { asProblem, createAnswers } from './answers.ts'

test('answers go to standard output, problems to standard error, each with its exit code', () => {
  const written: string[] = []
  const to = (name: string) => ({ write: (text: string) => written.push(`${name} ${text}`) })
  const answers = createAnswers('server', { stdout: to('out'), stderr: to('err') })
  const error = new NodeProxyError('NP_X', 'no space', { hint: 'make some' })
  const codes = [answers.print('1.0\n'), answers.refuse([asProblem(error)]), answers.fail(error)]
  expect(codes).toEqual([0, 2, 1])
  const problem = 'err server: no space; make some (NP_X)\n'
  expect(written).toEqual(['out 1.0\n', problem, problem])
})

test('a problem is one line, whatever it quotes', () => {
  let written = ''
  const stderr = { write: (text: string) => (written += text) }
  const error = new NodeProxyError('NP_X', 'damaged:\n  page 1\npage 2')
  createAnswers('server', { stdout: stderr, stderr }).fail(error)
  expect(written).toBe('server: damaged: page 1 page 2 (NP_X)\n')
})

test('an answer that no reader takes is no failure', () => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const answers = createAnswers('server', { stdout, stderr })
  expect(answers.print('1.0\n')).toBe(0)
  for (const stream of [stdout, stderr]) stream.emit('error', new Error('EPIPE'))
})
