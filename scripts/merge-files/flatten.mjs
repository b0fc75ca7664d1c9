import { load, importersOf, isProd, isTest, isTesting, File, ROOT, resolve, relative, importEntries, printImports } from './lib.mjs'
import path from 'node:path'
import fs from 'node:fs'
const posix = path.posix
const opt = Object.fromEntries(process.argv.slice(2).map((a) => { const [k, v] = a.replace(/^--/, '').split('='); return [k, v ?? true] }))
const MAXN = Number(opt.max ?? 2), CAP = Number(opt.cap ?? 25)
const files = load()
const keepFolders = [/^src\/[^/]+$/, /^src\/modes\/[^/]+$/, /\/driver$/, /\/generated/, /\/fields$/, /\/files\/[^/]+$/, /^src\/page\/files$/, /^src\/kernel\/[^/]+$/, /\/kinds\/[^/]+$/, /^src\/orchctl\/[^/]+$/, /^src\/controllers\/[^/]+$/]
const GENERIC = new Set(['resource', 'index', 'types', 'names', 'format', 'command', 'controller'])
const edges = new Map()
for (const f of files.values()) if (isProd(f.path)) edges.set(f.path, [...new Set(f.sources().map((s) => resolve(f.path, s.spec)))].filter((t) => files.has(t) && isProd(t)))
let location = new Map([...files.keys()].map((p) => [p, p]))
const moduleOf = (p) => p.split('/').slice(0, p.startsWith('src/modes/') ? 3 : 2).join('/')
function mutual(loc) {
  const pairs = new Set()
  for (const [from, tos] of edges) for (const to of tos) {
    const a = loc.get(from), b = loc.get(to)
    if (moduleOf(a) !== moduleOf(b)) continue
    const da = posix.dirname(a), db = posix.dirname(b)
    if (da !== db) pairs.add(`${da} ${db}`)
  }
  // circles of folders: count of folders in cycles via tarjan
  const adj = new Map()
  for (const p of pairs) { const [a, b] = p.split(' '); if (!adj.has(a)) adj.set(a, []); adj.get(a).push(b); if (!adj.has(b)) adj.set(b, []) }
  let index = 0, count = 0; const idx = new Map(), low = new Map(), st = [], on = new Set()
  const go = (v) => { idx.set(v, index); low.set(v, index++); st.push(v); on.add(v)
    for (const w of adj.get(v)) { if (!idx.has(w)) { go(w); low.set(v, Math.min(low.get(v), low.get(w))) } else if (on.has(w)) low.set(v, Math.min(low.get(v), idx.get(w))) }
    if (low.get(v) === idx.get(v)) { let n = 0, w; do { w = st.pop(); on.delete(w); n++ } while (w !== v); if (n > 1) count += n } }
  for (const v of adj.keys()) if (!idx.has(v)) go(v)
  return count
}
const base = mutual(location)
console.log('folders in circles before', base)
const others = new Set()
for (const top of ['src']) for (const e of fs.readdirSync(`${ROOT}/${top}`, { recursive: true, withFileTypes: true })) {
  if (e.isFile() && !e.name.endsWith('.ts')) others.add(posix.relative(ROOT, e.parentPath))
}
const moves = []
const refused = []
let again = true
while (again) {
  again = false
  const byFolder = new Map()
  for (const [old, p] of location) if (p.startsWith('src/')) { const d = posix.dirname(p); if (!byFolder.has(d)) byFolder.set(d, []); byFolder.get(d).push(old) }
  const prodCount = (d) => (byFolder.get(d) ?? []).filter((o) => isProd(location.get(o))).length
  const order = [...byFolder.keys()].sort((a, b) => b.split('/').length - a.split('/').length || (a < b ? -1 : 1))
  for (const d of order) {
    const n = prodCount(d)
    if (n === 0 || n > MAXN || d.includes('/testing')) continue
    if (keepFolders.some((r) => r.test(d))) continue
    const members = byFolder.get(d)
    if (others.has(d)) { refused.push(`${d}: other files`); continue }
    if ([...byFolder.keys()].some((x) => x.startsWith(`${d}/testing`))) { refused.push(`${d}: testing`); continue }
    if (members.some((o) => /import\.meta|new URL\(/.test(files.get(o).text))) { refused.push(`${d}: import.meta`); continue }
    const parent = posix.dirname(d)
    if (/^src$/.test(parent)) continue
    if (prodCount(parent) + n > CAP && !/\/kinds$/.test(parent)) { refused.push(`${d}: parent full`); continue }
    const X = posix.basename(d)
    const trial = new Map(location)
    const taken = new Set([...location.values()])
    let ok = true
    const prods = members.filter((o) => isProd(location.get(o)))
    const rename = new Map()
    for (const o of prods) {
      const stem = posix.basename(location.get(o), '.ts')
      let name = stem
      if (!stem.includes('-') && !stem.includes(X.replace(/s$/, '').slice(0, 6)) && !X.includes(stem.slice(0, 6)) && !GENERIC.has(stem)) name = `${X}-${stem}`
      if (GENERIC.has(stem)) name = prods.length === 1 ? X : `${X}-${stem}`
      if (taken.has(`${parent}/${name}.ts`)) name = stem.includes(X) ? name : `${X}-${stem}`
      rename.set(stem, name)
    }
    for (const o of members) {
      const bn = posix.basename(location.get(o))
      const stem = bn.split('.')[0], rest = bn.slice(stem.length)
      let name = rename.get(stem) ?? (GENERIC.has(stem) ? (`${X}-${stem}`) : stem)
      let target = `${parent}/${name}${rest}`
      if (taken.has(target) && !isProd(location.get(o))) target = `${parent}/${X}-${name}${rest}`
      if (taken.has(target)) { ok = false; refused.push(`${d}: ${target} taken`); break }
      trial.set(o, target)
    }
    if (!ok) continue
    const m = mutual(trial)
    if (m > base) { refused.push(`${d}: circle`); continue }
    location = trial
    moves.push(d)
    again = true
    break
  }
}
console.log('flattened', moves.length)
fs.writeFileSync('/tmp/merge-files-refused.txt', [...new Set(refused)].join('\n'))
if (opt.write) {
  const changed = [...location].filter(([a, b]) => a !== b)
  const out = new Map()
  for (const f of files.values()) {
    const at = location.get(f.path) ?? f.path
    let t = f.text
    for (const s of f.sources().sort((a, b) => b.lit.start - a.lit.start)) {
      if (!s.spec.startsWith('.')) continue
      const target = resolve(f.path, s.spec)
      const to = location.get(target) ?? target
      if (to === target && at === f.path) continue
      t = `${t.slice(0, s.lit.start)}'${relative(at, to)}'${t.slice(s.lit.end)}`
    }
    out.set(f.path, t)
  }
  for (const [p, t] of out) if (t !== files.get(p).text) fs.writeFileSync(`${ROOT}/${p}`, t)
  for (const [a, b] of changed) fs.renameSync(`${ROOT}/${a}`, `${ROOT}/${b}`)
  fs.appendFileSync('/tmp/merge-files-moved.txt', changed.map(([a, b]) => `${a} ${b}\n`).join(''))
}
