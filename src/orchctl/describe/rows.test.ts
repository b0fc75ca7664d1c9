import { expect, test } from 'vitest'
import { rowsText } from './rows.ts'

test('values stand in one column, and what is below a label is indented', () => {
  const text = rowsText([
    ['Name', 'web'],
    ['Labels', ['a=b', 'c=d']],
    ['Selector', []],
    ['Left out', undefined],
    [
      'Rows',
      {
        rows: [
          ['One', '1'],
          ['Three', 'a\nb'],
        ],
      },
    ],
    ['None', { rows: [] }],
    [
      'Items',
      {
        items: [
          [
            ['A', '1'],
            ['Bc', '2'],
          ],
          [['A', '3']],
        ],
      },
    ],
    ['Lines', { lines: ['x', 'y'] }],
    [
      'Table',
      {
        table: [
          ['Name', 'Port'],
          ['http', '80'],
        ],
        behind: '(1 in total)',
      },
    ],
    ['Empty', { table: [['Name']] }],
  ])
  expect(text).toBe(`Name:      web
Labels:    a=b
           c=d
Selector:  <none>
Rows:
  One:    1
  Three:  a
          b
None:      <none>
Items:
  - A:   1
    Bc:  2
  - A:  3
Lines:
  x
  y
Table:     (1 in total)
  Name  Port
  ----  ----
  http  80
Empty:     <none>
`)
})

test('nothing of an object controls a terminal or begins a line of its own', () => {
  const text = rowsText([
    ['a\u001b[2J', 'x\u001b[31m'],
    ['Lines', { lines: ['one\ntwo'] }],
    ['Table', { table: [['H'], ['a\r\nb']] }],
  ])
  expect(text).not.toMatch(/(?!\n)\p{Cc}/u)
  expect(text).toContain('one\\ntwo')
})
