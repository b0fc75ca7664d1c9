import { expect, test } from 'vitest'
import { NodeProxyError } from '../lib/error.ts'
import { asProblem, createAnswers } from './answers.ts'

test('answers go to standard output, problems to standard error, each with its exit code', () => {
  const written: string[] = []
  const to = (name: string) => ({ write: (text: string) => written.push(`${name} ${text}`) })
  const answers = createAnswers('server', { stdout: to('out'), stderr: to('err') })
  const error = new NodeProxyError('NP_X', 'no room', { hint: 'make some' })
  const codes = [answers.print('1.0\n'), answers.refuse([asProblem(error)]), answers.fail(error)]
  expect(codes).toEqual([0, 2, 1])
  const problem = 'err server: no room; make some (NP_X)\n'
  expect(written).toEqual(['out 1.0\n', problem, problem])
})
