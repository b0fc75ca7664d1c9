import { expect, test } from 'vitest'
import { parseResolvConf } from '../../resources/pod-dns.ts'
import { readQuestion } from './question.ts'
import { searchList } from './walk.ts'

const FIFTEEN_DOTS = `a${'.a'.repeat(15)}`
const CLUSTER = 'search shop.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n'

test.each<[string, string, string, string[]]>([
  [
    'few dots: the search list, then as it is',
    ...(['web', CLUSTER] as const),
    ['web.shop.svc.cluster.local', 'web.svc.cluster.local', 'web.cluster.local', 'web'],
  ],
  ['a final dot: as it is alone', 'web.shop.', CLUSTER, ['web.shop']],
  [
    'as many dots as ndots: as it is, first',
    ...(['a.b.c.d.e.f', 'search x.example\noptions ndots:5\n'] as const),
    ['a.b.c.d.e.f', 'a.b.c.d.e.f.x.example'],
  ],
  ['one dot without ndots', 'a.b', 'search x.example\n', ['a.b', 'a.b.x.example']],
  ['no dot without ndots', 'a', 'search x.example\n', ['a.x.example', 'a']],
  ['ndots:0', 'a', 'search x.example\noptions ndots:0\n', ['a', 'a.x.example']],
  ['ndots that is no number is 0', 'a', 'search x\noptions ndots:many\n', ['a', 'a.x']],
  [
    'ndots above 15',
    FIFTEEN_DOTS,
    'search x\noptions ndots:99\n',
    [FIFTEEN_DOTS, `${FIFTEEN_DOTS}.x`],
  ],
  ['the root is as it is', 'a', 'search . x.example\n', ['a', 'a.x.example']],
  [
    'in lower case, each name once',
    'WEB',
    'search X.example x.Example.\n',
    ['web.x.example', 'web'],
  ],
  ['a name that would be too long is left out', 'a', `search ${'b.'.repeat(126)}b\n`, ['a']],
])('%s', (_, word, file, expected) => {
  const names = searchList(readQuestion(word, undefined), parseResolvConf(file))
  expect(names).toEqual(expected)
})

test.each<[string, string | undefined, string, string[]]>([
  ['10.96.0.10', undefined, '10.0.96.10.in-addr.arpa', ['PTR']],
  ['10.96.0.10', 'ptr', '10.0.96.10.in-addr.arpa', ['PTR']],
  [
    ...(['fd00::1', undefined] as const),
    '1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa',
    ['PTR'],
  ],
  ['_http._tcp.Web', 'srv', '_http._tcp.web', ['SRV']],
  ['web', undefined, 'web', ['A', 'AAAA']],
])('%s of type %s', (word, type, name, types) => {
  expect(readQuestion(word, type)).toMatchObject({ name, types })
})

test.each([
  ['a b', undefined],
  ['', undefined],
  ['a..b', undefined],
  ['\u001b[2J', undefined],
  ['web', 'MX'],
])('%j of type %s is refused', (word, type) => {
  expect(() => readQuestion(word, type)).toThrow(
    expect.objectContaining({ code: 'NP_ORCHCTL_USAGE' }),
  )
})
