import { expect, test } from 'vitest'
import { TableReader } from './table-reader.ts'

test('a socket that could not be opened is opened again by the next read', () => {
  let isExhausted = true
  const closed: number[] = []
  const reader = new TableReader({
    socket: () => (isExhausted ? -1 : 7),
    getsockopt(fd, _level, _name, value) {
      if (fd < 0) return -1
      value.writeUInt32LE(3, 76)
      value.writeUInt32LE(600, 80)
      return 0
    },
    close: (fd) => closed.push(fd),
  })
  expect(reader.info(4, 'nat')).toBeUndefined()
  isExhausted = false
  expect(reader.info(4, 'nat')).toEqual({ entries: 3, size: 600 })
  reader.close()
  expect(closed).toEqual([7])
})
