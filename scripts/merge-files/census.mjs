import { load, importersOf, isProd, isTest, isTesting } from './lib.mjs'
import path from 'node:path'
const files = load(); const imp = importersOf(files)
const prod=[...files.keys()].filter(isProd)
const lines=prod.map(p=>files.get(p).lines).sort((a,b)=>a-b)
const folders=new Map(); for(const p of prod){const d=path.dirname(p);folders.set(d,(folders.get(d)??0)+1)}
let one=0,same=0,small=0,tested=0
for(const p of prod){const im=[...(imp.get(p)??[])].filter(isProd); if(im.length!==1)continue; one++; if(path.dirname(im[0])!==path.dirname(p))continue; same++; if(files.get(p).lines<=60){small++; if(files.has(p.replace('.ts','.test.ts')))tested++}}
console.log({files:prod.length,lines:lines.reduce((a,b)=>a+b),median:lines[lines.length>>1],p90:lines[Math.floor(lines.length*.9)],folders:folders.size,few:[...folders.values()].filter(n=>n<=2).length,one,same,small,tested})
