import { expect, test } from 'vitest'
import { bindMap, describeBinding } from './bind-map.ts'

test.each([
  ['127.0.0.1:8080=shop/cart:http', { ip: '127.0.0.1', port: 8080, portRef: 'http' }],
  ['127.0.0.1:8080=shop/cart', { ip: '127.0.0.1', port: 8080 }],
  ['0.0.0.0:1=shop/cart:65535', { ip: '0.0.0.0', port: 1, portRef: '65535' }],
  ['[::1]:5353=shop/cart:dns/UDP', { ip: '::1', port: 5353, portRef: 'dns', protocol: 'UDP' }],
  ['[::1]:5353=shop/cart/UDP', { ip: '::1', port: 5353, protocol: 'UDP' }],
])('%s', (text, binding) => {
  const read = bindMap.decode([text])
  expect(read).toEqual({ ok: true, value: [{ service: 'shop/cart', protocol: 'TCP', ...binding }] })
  expect(read.ok && read.value.map(describeBinding)).toEqual([text])
})

test('TCP is the default protocol', () => {
  const read = bindMap.decode(['[FD00::01]:80=shop/cart/TCP'])
  expect(read.ok && bindMap.encode(read.value)).toEqual(['[fd00::1]:80=shop/cart'])
})

test('a flag holds several, one address serves both protocols', () => {
  const read = bindMap.fromFlag('127.0.0.1:53=a/dns/UDP, 127.0.0.1:53=a/dns')
  expect(read.ok && read.value.map(({ protocol }) => protocol)).toEqual(['UDP', 'TCP'])
  expect(bindMap.fromFlag('')).toEqual({ ok: true, value: [] })
})

test.each([
  ['shop/cart:http', /^write ADDRESS=SERVICE, such as/],
  [7, /^write ADDRESS=SERVICE/],
  ['127.0.0.1=shop/cart', /an IP address and a port from 1 to 65535/],
  ['127.0.0.1:0=shop/cart', /from 1 to 65535/],
  ['127.0.0.1:65536=shop/cart', /from 1 to 65535/],
  ['localhost:80=shop/cart', /an IP address/],
  ['::1:80=shop/cart', /an IP address/],
  ['127.0.0.1:80=cart', /NAMESPACE\/NAME/],
  ['127.0.0.1:80=shop/Cart', /NAMESPACE\/NAME/],
  ['127.0.0.1:80=shop/cart:a:b', /NAMESPACE\/NAME/],
  ['127.0.0.1:80=shop/cart/TCP/UDP', /NAMESPACE\/NAME/],
  ['127.0.0.1:80=shop/cart:', /the name or the number of a port/],
  ['127.0.0.1:80=shop/cart:0', /the name or the number of a port/],
  ['127.0.0.1:80=shop/cart:65536', /the name or the number of a port/],
  ['127.0.0.1:80=shop/cart/SCTP', /end with \/TCP, \/UDP or neither/],
  ['127.0.0.1:80=shop/cart/', /end with \/TCP, \/UDP or neither/],
])('%j is refused', (item, remedy) => {
  const list = ['127.0.0.1:80=shop/desk', item]
  expect(bindMap.decode(list)).toEqual({
    ok: false,
    part: '[1]',
    remedy: expect.stringMatching(remedy),
  })
})

test('an address and protocol can be given once, however it is written', () => {
  const list = ['[::1]:80=shop/cart', '[0:0::1]:80=shop/desk:80/TCP']
  expect(bindMap.decode(list)).toEqual({
    ok: false,
    part: '[1]',
    remedy: expect.stringMatching(/^\[::1\]:80\/TCP is given twice/),
  })
})

test('one text is no list', () => {
  expect(bindMap.decode('127.0.0.1:80=shop/cart').ok).toBe(false)
})
