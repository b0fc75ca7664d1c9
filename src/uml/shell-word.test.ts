import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { shellWord } from './init-script.ts'

test.each(['', 'plain', "it's", '$HOME `id` "x" \\', 'a\nb', '--flag=*', "''"])(
  'a shell reads %j back',
  (text) => {
    const read = execFileSync('sh', ['-c', `printf %s ${shellWord(text)}`], { encoding: 'utf8' })
    expect(read).toBe(text)
  },
)
