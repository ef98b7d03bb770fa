/**
 * Characters that look like a Latin letter, by that letter: those that Unicode lists as confusable (UTS #39) and that
 * NFKD does not turn into that letter, with the small letters of Greek and Cyrillic whose capitals look alike.
 */
const lookAlikes: Readonly<Record<string, string>> = {
  a: 'ɑΑαАаᎪᗅᴀ⍶⍺ꓮ𐊠𖽀',
  b: 'ƀƁƂƃƄɓʙΒβБВЬвѢѣҌҍᏏᏴᖯᗷꓐꞴ𐊂𐊡𐌁',
  c: '¢ƇȼϲϹСсҪҫᏟᴄ₡Ⲥⲥꓚꮯ𐊢𐌂𐐕𐐽𐔜𑣩𑣲🝌',
  d: 'ÐĐđƉƊƌɖɗԁᎠᏧᑯᑺᑻᒇᗞᗪᴅ₫ꓒꓓ',
  e: 'ɆɇΕεЕеэєҽҿᎬᴇ℮⋿ⴹꓰꬲ𐊆𑢦𑢮',
  f: 'ƑƒϜքᖴᵮẝꓝꜰꞘꞙꬵ𐊇𐊥𐔥𑢢𑣂𝈓',
  g: 'ƍƓǤǥɠɡɢԌցᏀᏳᶃꓖ',
  h: 'ĦħɦʜΗНнћҢһӇӉհᎻᏂᏲᕼⱧⲎꓧꚕ𐋏',
  i: 'ıɨɩɪιіӏᎥᵻᵼ⍳⍸ꙇꭵ𑣃',
  j: 'ɈɉͿϳЈјᎫᒍᒘᒙᴊꓙꞲ',
  k: 'ƘƙΚκКкҚҞᏦᛕᴋ₭ⱩⲔꓗꝀ𐔘',
  l: '|ŁłƖƗƚǀɫɭʟΙІӀ\u05c0\u05d5\u05df\u05f1\u0627\u0661\u0673۱\u07caᏞᒪᒶᒷᛁ∣⏽ⲒⳐⵏꓡꓲ𐊊𐌉𐌠𐐛𐔦𑢣𑢲𖼖𖼨𝈪\u{1e8c7}',
  m: 'ΜϺМмӍᎷᗰᛖᴍⲘꓟ𐊰𐌑',
  n: 'ƝƞɳɴΝηпոռᵰⲚꓠ𐆎𐔓',
  o: 'ØøƟɵΘΟθοσОоѲѳӨөՕօ\u05e1\u0647\u0665\u06be\u06c1\u06d5۵\u06ff\u07c0०০੦૦ଠ୦௦\u0c02౦\u0c82೦\u0d02ഠ൦\u0d82๐໐တဝ၀ჿዐᎤᎾᏫᴏᴑ⊖⊝⍬Ⲟⲟⴱⵁⵔ〇ꓳꝊꝋꬽꬾꭴꮎꮻ𐊒𐊫𐐄𐐬𐓂𐓪𐔖𑓐𑢵𑣈𑣗𑣠𝈚🜔',
  p: 'ƤƥΡρРрᏢᑭᑶᑷᒆᴘᵽ⍴Ⲣⲣꓑ𐊕',
  q: 'ʠԛգզⵕꞯ',
  r: 'ƦɍɼɽʀгяґғᎡᏒᖇᴦᵲⲅꓣꭇꭈꮁ𐒴𖼵𝈖',
  s: 'ƽʂЅѕՏᏕᏚᵴꓢꜱꮪ𐊖𐐠𐑈𑣁𖼺',
  t: 'ŦŧƬƭƮȾΤτТтҬᎢᴛᵵ₮⊤⍡⟙Ⲧꓔ𐊗𐊱𐌕𑢼𖼊🝨',
  u: 'ɄʋυՍսሀᏌᑌᑗᑘᑧᴜᵾ∪⋃ꓴꞟꭎꭒꮜ𐓎𐓶𑢸𑣘𖽂',
  v: 'νѴѵ\u05d8\u0667۷Ꮩᐯᐺᐻᴠ∨⋁ⴸꓦꛟꮩ𐆗𐔝𑜆𑢠𑣀𖼈𝈍🜈',
  w: 'ɯʍωшѡѽԜԝաᎳᏔᴡ₩ꓪꝡꮃ𑓅𑜊𑜎𑜏𑣦𑣯',
  x: '×ΧχХхҲᕁᕽ᙭᙮ᚷ╳⤫⤬⨯⨰ⲬⵝꓫꞳ𐆖𐊐𐊴𐌗𐌢𐔧𑣬',
  y: '¥ƳƴɎɏɣʏΥγУуҮүҰұყᎩᎽᶌỿⲨꓬꭚ𐊲𑢤𑣜𖽃',
  z: 'ƵƶȤȥʐΖζᏃᴢᵶꓜꮓ𐋵𑢩𑣄𑣥',
}

const letters: ReadonlyMap<string, string> = new Map(
  Object.entries(lookAlikes).flatMap(([letter, others]) => [...others].map((other) => [other, letter] as const)),
)

/** A name as it looks, in small Latin letters; letters that look alike have one form. Runs in linear time. */
export function looksLike(name: string): string {
  // Marks go before NFKD: it sorts them, which takes long where a letter has thousands of them.
  const bare = withoutInvisible(name).replaceAll(/\p{M}+/gu, '')
  // Letters are mapped before and after NFKD, which turns a letter that looks like a c into a sigma.
  return inLatin(inLatin(bare).normalize('NFKD'))
    .replaceAll(/[^\p{L}\p{N}]+/gu, '')
    .toLowerCase()
    .replaceAll(/[i1]/g, 'l')
    .replaceAll('0', 'o')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
}

/** Removes what shows nothing, also letters to Unicode (Hangul fillers) and symbols (the Braille cell without dots). */
export function withoutInvisible(text: string): string {
  return text.replaceAll(/[\p{Default_Ignorable_Code_Point}\u2800]+/gu, '')
}

function inLatin(text: string): string {
  return Array.from(text, (character) => letters.get(character) ?? character).join('')
}

/** Names under which something to execute travels. */
// biome-ignore format: a list of words
export const payloadNames = [
  'execute', 'exec', 'eval', 'run', 'spawn', 'shell', 'bash', 'sh', 'zsh', 'cmd', 'cmds', 'powershell', 'pwsh',
  'python', 'perl', 'ruby', 'subprocess', 'popen', 'sudo', 'script', 'scripts', 'command_line', 'os_command',
  'system_command',
] as const

/** Words that may surround such a name without changing it, as in `shell_command`. */
// biome-ignore format: a list of words
export const payloadCompanions = [
  'arg', 'args', 'argument', 'arguments', 'argv', 'body', 'code', 'command', 'commands', 'file', 'inline', 'input',
  'line', 'lines', 'payload', 'snippet', 'source', 'string', 'text', 'this', 'to',
] as const

/** The length of the longest name. It bounds the time that a match takes. */
const longest = 64

const names = payloadNames.map((name) => [looksLike(name), name] as const)
const either = (forms: readonly string[]) => forms.join('|')
const named = either(names.map(([form]) => form))
const companions = either(payloadCompanions.map(looksLike))
const whole = new RegExp(`^(?:${companions})*(${named})(?:${named}|${companions})*$`, 'u')

/** The payload name that a key reads as. Null: it carries nothing to execute. Numbers at its end do not count. */
export function payloadName(key: string): string | null {
  const form = looksLike(key)
  const found = matched(form) ?? matched(looksLike(withoutInvisible(key).replace(/[\p{N}\p{P}\p{Z}]+$/u, '')))
  return found === undefined ? null : (names.find(([name]) => name === found)?.[1] ?? null)
}

function matched(form: string): string | undefined {
  return form.length > longest ? undefined : (whole.exec(form)?.[1] ?? undefined)
}
