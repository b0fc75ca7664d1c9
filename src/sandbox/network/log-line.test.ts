import { expect, test } from 'vitest'
import { logText } from './program.ts'

test.each([
  [
    '{"level":30,"time":1,"pid":3,"msg":"synced","services":7,"took":{"ms":1}}',
    'info synced services=7',
  ],
  ['{"level":"warn","msg":"a\\u001b[2Jb"}', 'warn a [2Jb'],
  [
    'node-proxy: mode "x" is not part of this build',
    'node-proxy: mode "x" is not part of this build',
  ],
  ['\u001b[31mred', '[31mred'],
  ['[1]', '[1]'],
])('%s', (line, expected) => {
  expect(logText(line)).toBe(expected)
})
