import { expect, test } from 'vitest'
import { StatusLine, type Terminal } from './status-line.ts'

const CLEAR = '\r\x1b[K'

function terminal(columns = 80) {
  const written: string[] = []
  const stream: Terminal = {
    columns,
    write: (text) => written.push(text) > 0,
  }
  return { stream, written }
}

test('gives way to what is written, and is drawn again below it', () => {
  const { stream, written } = terminal()
  const line = new StatusLine(stream)
  line.show('1 of 2')
  stream.write('a test failed\n')
  line.show('2 of 2')
  expect(written).toEqual(['1 of 2', CLEAR, 'a test failed\n', '1 of 2', CLEAR, '2 of 2'])
})

test('waits until a line that others began is complete', () => {
  const [out, err] = [terminal(), terminal()]
  const line = new StatusLine(out.stream, [err.stream])
  err.stream.write('half')
  line.show('1 of 2')
  expect(out.written).toEqual([])
  err.stream.write(' a line\n')
  expect(out.written).toEqual(['1 of 2'])
})

test('is cut to the width of the terminal', () => {
  const { stream, written } = terminal(5)
  new StatusLine(stream).show('123456789')
  expect(written).toEqual(['1234'])
})

test('close removes it and gives the streams back', () => {
  const { stream, written } = terminal()
  const { write } = stream
  const line = new StatusLine(stream)
  line.show('1 of 2')
  line.close()
  expect(stream.write).toBe(write)
  stream.write('end\n')
  expect(written).toEqual(['1 of 2', CLEAR, 'end\n'])
})
