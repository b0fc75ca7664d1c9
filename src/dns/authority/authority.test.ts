import { decode, encode } from 'dns-packet'
import { expect, test } from 'vitest'

test('x', () => {})
