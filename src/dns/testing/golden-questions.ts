/** One question, and what an answer of the cluster domain holds; records as `name TYPE data`, in order of text. */
export interface GoldenQuestion {
  readonly type: string
  readonly name: string
  readonly status: 'NOERROR' | 'NXDOMAIN' | 'REFUSED'
  readonly answers: readonly string[]
  readonly additionals: readonly string[]
}

/**
 * A line: `TYPE name = record; record + additional; additional`. Instead of `=`: `NODATA`, `NXDOMAIN` or `REFUSED`, which
 * records may follow, too (an alias that leads to no name). A record without a name has that of the question. `@` stands for
 * `svc.cluster.local`.
 */
const QUESTIONS = `
  # The address of a Service, with endpoints and without.
  A web.shop.@ = A 10.96.0.10
  A web.test.@ = A 10.96.0.20
  A plain.shop.@ = A 10.96.0.13
  A both-53.shop.@ = A 10.96.0.14
  A signal.shop.@ = A 10.96.0.15
  A dual.shop.@ = A 10.96.0.11
  AAAA dual.shop.@ = AAAA fd00:96::11
  AAAA six.shop.@ = AAAA fd00:96::12
  A six.shop.@ NODATA
  AAAA web.shop.@ NODATA
  AAAA web.test.@ NODATA
  AAAA plain.shop.@ NODATA
  TXT web.shop.@ NODATA
  MX web.shop.@ NODATA
  NS web.shop.@ NODATA
  SOA web.shop.@ NODATA
  PTR web.shop.@ NODATA
  CNAME web.shop.@ NODATA
  CAA web.shop.@ NODATA
  HTTPS web.shop.@ NODATA
  NAPTR web.shop.@ NODATA
  ANY web.shop.@ = HINFO "RFC8482" ""
  # The servers of the API have names by themselves.
  A kubernetes.default.@ = A 10.96.0.1
  A orch.default.@ = A 10.96.0.2
  AAAA kubernetes.default.@ NODATA
  SRV _https._tcp.kubernetes.default.@ = SRV 0 100 443 kubernetes.default.@ + kubernetes.default.@ A 10.96.0.1
  SRV _https._tcp.orch.default.@ = SRV 0 100 443 orch.default.@ + orch.default.@ A 10.96.0.2
  PTR 1.0.96.10.in-addr.arpa = PTR kubernetes.default.@
  PTR 2.0.96.10.in-addr.arpa = PTR orch.default.@
  # Letters of either case are the same.
  A WEB.shop.@ = A 10.96.0.10
  A web.SHOP.SVC.Cluster.LOCAL = A 10.96.0.10
  AAAA DUAL.Shop.@ = AAAA fd00:96::11
  SRV _HTTP._TCP.web.shop.@ = SRV 0 100 80 web.shop.@ + web.shop.@ A 10.96.0.10
  A DB-0.db.shop.@ = A 10.244.1.10
  PTR 10.0.96.10.IN-ADDR.ARPA = PTR web.shop.@
  # Names that do not exist.
  A lost.shop.@ NXDOMAIN
  AAAA lost.shop.@ NXDOMAIN
  SRV lost.shop.@ NXDOMAIN
  ANY lost.shop.@ NXDOMAIN
  A web.nowhere.@ NXDOMAIN
  A nowhere.@ NXDOMAIN
  A a.web.shop.@ NXDOMAIN
  A 10-96-0-10.web.shop.@ NXDOMAIN
  A a.b.web.shop.@ NXDOMAIN
  A a.b.c.web.shop.@ NXDOMAIN
  A web.shop.cluster.local NXDOMAIN
  A web.cluster.local NXDOMAIN
  A shop.cluster.local NXDOMAIN
  A web.shop.svc.svc.cluster.local NXDOMAIN
  A web.shop.service.cluster.local NXDOMAIN
  A -web.shop.@ NXDOMAIN
  A web_.shop.@ NXDOMAIN
  A *.shop.@ NXDOMAIN
  A web.*.@ NXDOMAIN
  # Names that have names below them, and no records.
  A @ NODATA
  AAAA @ NODATA
  SRV @ NODATA
  A shop.@ NODATA
  AAAA shop.@ NODATA
  SRV shop.@ NODATA
  A test.@ NODATA
  A default.@ NODATA
  A cluster.local NODATA
  TXT cluster.local NODATA
  A pod.cluster.local NODATA
  A dns.cluster.local NODATA
  ANY shop.@ = HINFO "RFC8482" ""
  # Pods by address have no names: a client could make any of them up.
  A 10-244-1-10.shop.pod.cluster.local NXDOMAIN
  A 10-244-1-10.pod.cluster.local NXDOMAIN
  A shop.pod.cluster.local NXDOMAIN
  # The zone itself.
  NS cluster.local = NS ns.dns.cluster.local + ns.dns.cluster.local A 127.0.0.1
  A ns.dns.cluster.local = A 127.0.0.1
  AAAA ns.dns.cluster.local NODATA
  A a.ns.dns.cluster.local NXDOMAIN
  A other.dns.cluster.local NXDOMAIN
  TXT dns-version.cluster.local = TXT "1.1.0"
  A dns-version.cluster.local NODATA
  TXT a.dns-version.cluster.local NXDOMAIN
  # The ports of a Service.
  SRV _http._tcp.web.shop.@ = SRV 0 100 80 web.shop.@ + web.shop.@ A 10.96.0.10
  SRV _https._tcp.web.shop.@ = SRV 0 100 443 web.shop.@ + web.shop.@ A 10.96.0.10
  SRV _statsd._udp.web.shop.@ = SRV 0 100 9125 web.shop.@ + web.shop.@ A 10.96.0.10
  SRV _http._tcp.dual.shop.@ = SRV 0 100 80 dual.shop.@ + dual.shop.@ A 10.96.0.11; dual.shop.@ AAAA fd00:96::11
  SRV _http._tcp.six.shop.@ = SRV 0 100 80 six.shop.@ + six.shop.@ AAAA fd00:96::12
  SRV _dns._udp.both-53.shop.@ = SRV 0 100 53 both-53.shop.@ + both-53.shop.@ A 10.96.0.14
  SRV _dns-tcp._tcp.both-53.shop.@ = SRV 0 100 53 both-53.shop.@ + both-53.shop.@ A 10.96.0.14
  SRV _s1._sctp.signal.shop.@ = SRV 0 100 2905 signal.shop.@ + signal.shop.@ A 10.96.0.15
  SRV web.shop.@ = SRV 0 33 443 web.shop.@; SRV 0 33 80 web.shop.@; SRV 0 33 9125 web.shop.@ + web.shop.@ A 10.96.0.10
  SRV web.test.@ = SRV 0 100 80 web.test.@ + web.test.@ A 10.96.0.20
  SRV plain.shop.@ = SRV 0 100 8080 plain.shop.@ + plain.shop.@ A 10.96.0.13
  SRV _http._udp.web.shop.@ NXDOMAIN
  SRV _ftp._tcp.web.shop.@ NXDOMAIN
  SRV http._tcp.web.shop.@ NXDOMAIN
  SRV _http.tcp.web.shop.@ NXDOMAIN
  SRV _http._tls.web.shop.@ NXDOMAIN
  SRV __tcp.web.shop.@ NXDOMAIN
  SRV _._tcp.web.shop.@ NXDOMAIN
  SRV _._tcp.plain.shop.@ NXDOMAIN
  SRV _8080._tcp.plain.shop.@ NXDOMAIN
  SRV _tcp.plain.shop.@ NXDOMAIN
  SRV a._http._tcp.web.shop.@ NXDOMAIN
  SRV _http._tcp.lost.shop.@ NXDOMAIN
  SRV _http._tcp.shop.@ NXDOMAIN
  A _http._tcp.web.shop.@ NODATA
  AAAA _http._tcp.web.shop.@ NODATA
  A _ftp._tcp.web.shop.@ NXDOMAIN
  A _tcp.web.shop.@ NODATA
  A _udp.web.shop.@ NODATA
  A _sctp.web.shop.@ NXDOMAIN
  SRV _tcp.web.shop.@ = SRV 0 50 443 web.shop.@; SRV 0 50 80 web.shop.@ + web.shop.@ A 10.96.0.10
  # The endpoints of a headless Service: the ready ones.
  A db.shop.@ = A 10.244.1.10; A 10.244.1.11; A 10.244.1.12
  AAAA db.shop.@ NODATA
  TXT db.shop.@ NODATA
  A db-0.db.shop.@ = A 10.244.1.10
  A db-1.db.shop.@ = A 10.244.1.11
  A 10-244-1-12.db.shop.@ = A 10.244.1.12
  AAAA db-0.db.shop.@ NODATA
  SRV db-0.db.shop.@ NODATA
  TXT db-0.db.shop.@ NODATA
  A 10-244-1-10.db.shop.@ NXDOMAIN
  A db-2.db.shop.@ NXDOMAIN
  A db-3.db.shop.@ NXDOMAIN
  A 10-244-1-13.db.shop.@ NXDOMAIN
  A a.db-0.db.shop.@ NXDOMAIN
  SRV _sql._tcp.db.shop.@ = SRV 0 33 5432 10-244-1-12.db.shop.@; SRV 0 33 5432 db-0.db.shop.@; SRV 0 33 5432 db-1.db.shop.@ + 10-244-1-12.db.shop.@ A 10.244.1.12; db-0.db.shop.@ A 10.244.1.10; db-1.db.shop.@ A 10.244.1.11
  SRV _peer._udp.db.shop.@ = SRV 0 33 7000 10-244-1-12.db.shop.@; SRV 0 33 7000 db-0.db.shop.@; SRV 0 33 7000 db-1.db.shop.@ + 10-244-1-12.db.shop.@ A 10.244.1.12; db-0.db.shop.@ A 10.244.1.10; db-1.db.shop.@ A 10.244.1.11
  SRV _peer._tcp.db.shop.@ NXDOMAIN
  SRV _sql._tcp.db-0.db.shop.@ NXDOMAIN
  A _sql._tcp.db.shop.@ NODATA
  A _tcp.db.shop.@ NODATA
  A _sctp.db.shop.@ NXDOMAIN
  ANY db.shop.@ = HINFO "RFC8482" ""
  PTR 10.1.244.10.in-addr.arpa = PTR db-0.db.shop.@
  PTR 11.1.244.10.in-addr.arpa = PTR db-1.db.shop.@
  # IPv6, and both families.
  AAAA db6.shop.@ = AAAA 5678:abcd::1; AAAA 5678:abcd::2
  A db6.shop.@ NODATA
  AAAA 5678-abcd--1.db6.shop.@ = AAAA 5678:abcd::1
  AAAA six.db6.shop.@ = AAAA 5678:abcd::2
  A six.db6.shop.@ NODATA
  AAAA 5678-abcd--2.db6.shop.@ NXDOMAIN
  SRV _http._tcp.db6.shop.@ = SRV 0 50 80 5678-abcd--1.db6.shop.@; SRV 0 50 80 six.db6.shop.@ + 5678-abcd--1.db6.shop.@ AAAA 5678:abcd::1; six.db6.shop.@ AAAA 5678:abcd::2
  A mixed.shop.@ = A 10.244.2.1
  AAAA mixed.shop.@ = AAAA fd00:244::2:1
  A one.mixed.shop.@ = A 10.244.2.1
  AAAA one.mixed.shop.@ = AAAA fd00:244::2:1
  SRV _http._tcp.mixed.shop.@ = SRV 0 100 80 one.mixed.shop.@ + one.mixed.shop.@ A 10.244.2.1; one.mixed.shop.@ AAAA fd00:244::2:1
  PTR 1.2.244.10.in-addr.arpa = PTR one.mixed.shop.@
  PTR 1.0.0.0.2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.4.4.2.0.0.0.d.f.ip6.arpa = PTR one.mixed.shop.@
  PTR 2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.c.b.a.8.7.6.5.ip6.arpa = PTR six.db6.shop.@
  # A headless Service without a ready endpoint, and one that publishes those that are not.
  A empty.shop.@ NXDOMAIN
  AAAA empty.shop.@ NXDOMAIN
  SRV _http._tcp.empty.shop.@ NXDOMAIN
  A asleep.shop.@ NXDOMAIN
  A zzz.asleep.shop.@ NXDOMAIN
  SRV _http._tcp.asleep.shop.@ NXDOMAIN
  A early.shop.@ = A 10.244.4.1; A 10.244.4.2
  A bird.early.shop.@ = A 10.244.4.1
  A 10-244-4-2.early.shop.@ = A 10.244.4.2
  PTR 1.4.244.10.in-addr.arpa = PTR bird.early.shop.@
  # ExternalName: followed inside the zone.
  A outside.shop.@ = CNAME db.example.com
  AAAA outside.shop.@ = CNAME db.example.com
  CNAME outside.shop.@ = CNAME db.example.com
  TXT outside.shop.@ = CNAME db.example.com
  A alias.shop.@ = CNAME web.shop.@; web.shop.@ A 10.96.0.10
  CNAME alias.shop.@ = CNAME web.shop.@
  AAAA alias.shop.@ = CNAME web.shop.@
  A alias-of-alias.shop.@ = CNAME alias.shop.@; alias.shop.@ CNAME web.shop.@; web.shop.@ A 10.96.0.10
  A alias-of-db.shop.@ = CNAME db.shop.@; db.shop.@ A 10.244.1.10; db.shop.@ A 10.244.1.11; db.shop.@ A 10.244.1.12
  A alias-outside.shop.@ = CNAME outside.shop.@; outside.shop.@ CNAME db.example.com
  A alias-lost.shop.@ NXDOMAIN CNAME lost.shop.@
  A loop-a.shop.@ = CNAME loop-b.shop.@; loop-b.shop.@ CNAME loop-a.shop.@
  SRV _http._tcp.alias.shop.@ NXDOMAIN
  A a.outside.shop.@ NXDOMAIN
  # Reverse names of Services.
  PTR 10.0.96.10.in-addr.arpa = PTR web.shop.@
  PTR 20.0.96.10.in-addr.arpa = PTR web.test.@
  PTR 11.0.96.10.in-addr.arpa = PTR dual.shop.@
  PTR 1.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.6.9.0.0.0.0.d.f.ip6.arpa = PTR dual.shop.@
  A 10.0.96.10.in-addr.arpa NODATA
  TXT 10.0.96.10.in-addr.arpa NODATA
  # Where no upstream is set, what is not ours is refused.
  PTR 9.9.9.9.in-addr.arpa REFUSED
  PTR 12.1.244.10.in-addr.arpa REFUSED
  PTR 13.1.244.10.in-addr.arpa REFUSED
  PTR 10.96.0.10.in-addr.arpa REFUSED
  PTR 010.0.96.10.in-addr.arpa REFUSED
  PTR 0.96.10.in-addr.arpa REFUSED
  A example.com REFUSED
  A local REFUSED
  A xcluster.local REFUSED
  A web.shop.svc REFUSED
  A web REFUSED
  NS . REFUSED
`

const ZONE = 'svc.cluster.local'
const LINE = /^(?<type>\S+) (?<name>\S+) (?:(?<status>[A-Z]+)|=)(?: (?<records>.*))?$/

/** The questions of the table, each with its whole answer. */
export function goldenQuestions(): readonly GoldenQuestion[] {
  return QUESTIONS.split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map(parseLine)
}

function parseLine(line: string): GoldenQuestion {
  const groups = LINE.exec(line.replaceAll('@', ZONE))?.groups
  if (groups === undefined) throw new TypeError(`not a golden question: ${line}`)
  const { type = '', name = '', status = 'NOERROR', records = '' } = groups
  const [answers = '', additionals = ''] = records.split(' + ')
  return {
    type,
    name,
    status: (status === 'NODATA' ? 'NOERROR' : status) as GoldenQuestion['status'],
    answers: recordsOf(answers, name.toLowerCase()),
    additionals: recordsOf(additionals, name.toLowerCase()),
  }
}

/** Records in order of text; one that begins with its type has the name of the question. */
function recordsOf(text: string, owner: string): readonly string[] {
  return text
    .split('; ')
    .filter((record) => record !== '')
    .map((record) => (/^[A-Z]+ /.test(record) ? `${owner} ${record}` : record))
    .toSorted()
}
