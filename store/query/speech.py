"""Words that carry an utterance rather than its matter: greetings, consent, requests, grammar. Pure.

A prompt of nothing else asks memory for nothing. English is told by words; Japanese, which has no blanks, by the
characters of a run that belong to grammar or to asking.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import regex

from ..text.analyzer import STOP_WORDS

__all__ = ["FAINT", "grammar", "is_activity", "is_idle", "is_instruction", "is_telling", "reads_english"]

# Greeting, thanking, agreeing, refusing, hedging, pacing: what keeps a conversation going.
_ACTS: Final = frozenset(
    """
    absolutely actually afternoon agree agreed ah ahead alright amazing anyway appreciate appreciated apologies
    approve approved awesome aye bad besides better brilliant bye certainly cheers clear come completely confirm
    confirmed confusing congrats congratulations cool correct course damn deal dear definitely done enjoy enough
    evening everybody everyone everything exactly excellent fair fantastic fine folks friend go goes going good
    goodbye gotcha great greetings guess guys hah haha hello hey hi hm hmm hold honestly hooray indeed interesting
    job kind kindly later like lgtm lol look looks lovely luck maybe mind moment morning much nah need never nice
    night no nope now of oh ok okay oops ought pardon perfect perhaps pleased pleasure possible possibly probably
    proceed progress quick ready regards right roger second seems sense shame sir sorry sound sounds splendid super
    sure sweet team terrific thank thanks think thought thx today tonight tomorrow true ty ugh understand understood
    understandable way welcome well wonderful won works worries wow wrong yay yeah yep yes yet yikes yo yup
    """.split()
)
# What is done with whatever is at hand: such a verb with a pronoun, an adverb or nothing behind it names no matter.
_VERBS: Final = frozenset(
    """
    abort accept add adjust amend apply approve ask begin build bring cancel carry change check clean close commit
    compile complete continue copy create cut delete deploy discard do drop edit execute explain fetch finish fix
    format get give go handle help hold improve install keep launch leave let lint list look make merge move open
    pause paste perform print proceed publish pull push put quit read rebase redo refactor reload remove repeat
    replace rerun reset restart resume retry return revert review rewrite roll rollback run save see send ship show
    shorten simplify skip squash stage start stop submit summarise summarize take tell test tidy translate try undo
    update upload use verify wait write
    """.split()
)
# The same alone, as a prompt: "continue", "commit". Other verbs alone are words to search for: "deploy", "retry".
_PACE: Final = frozenset(
    "begin commit continue finish go hold proceed push redo resume skip start stop undo wait".split()
)
_PRONOUNS: Final = frozenset(
    "it this that these those them all both everything anything something one ones me us".split()
)
_ADVERBS: Final = frozenset(
    "again ahead along also always away back better bit briefly down far first further here instead last later long "
    "more next now off on once only out over please quickly shorter slowly soon step steps still then there through "
    "together too twice up well work working changes change way part parts thing things point points option".split()
)
_LITTLE: Final = STOP_WORDS | _ACTS | _PRONOUNS | _ADVERBS
# Content words that say little of what a question is about: verbs of asking and doing, small numbers, measure words.
_MATTER: Final = frozenset("deploy restart retry rollback".split())  # verbs that are things of their own as well
FAINT: Final = (_VERBS - _MATTER) | frozenset(
    """
    answer anyone anything best better bigger child compare compute convert define describe difference different
    difficult discuss draft easy example exist explain fast find first generate good happen hear hour hours idea job
    kind know large last line lines long many mean means minute minutes name names need new old often one paragraph
    people person place please possible question recommend record rename rephrase reword say second sentence
    sentences several short simple slow small something sort stuff suggest tell text thing things third time times
    today tomorrow turn two three four five six seven eight nine ten type use used uses using want way ways week
    wear word words work works write written year years day days
    """.split()
)

_COMMON: Final = FAINT | _LITTLE
# Turns of speech whose words would say something elsewhere.
_SET_PHRASES: Final = re.compile(
    r"\b(?:okie dokie|sounds? like a plan|mak(?:es?|ing) (?:perfect |total )?sense|(?:i )?(?:don't|do not|dunno) know|"
    r"have a \w+(?: \w+)?|(?:can|do) you hear me|your (?:call|choice|turn|pick)|"
    r"whatever (?:you (?:think|prefer|like|want|say)|works)(?: is best| works)?|moving on|pretty please|"
    r"^option (?:[a-z]|\d+)$|"
    r"no (?:problem|worries|idea|rush|hurry|objections?|complaints|thank you)|long time no see|"
    r"talk (?:to you )?(?:soon|later)|"
    r"take (?:care|your time)|keep up the good work|good (?:point|idea|call|question|stuff|catch|to (?:know|hear|see))|"
    r"(?:that|this|it) help(?:s|ed)(?: a lot)?|thumbs up|fingers crossed|my (?:bad|mistake|fault)|you rock|"
    r"you(?:'re| are) the best|well played|nailed it|love it|same (?:here|to you)|fine by me|nice to (?:meet|see) you|"
    r"sleep well|happy (?:new year|birthday|holidays)|merry christmas|"
    r"(?:thanks|thank you) (?:a|so) (?:bunch|lot|ton|million)|almost|tysm|ttyl|np|brb|omg|kk|hurray|bravo)\b"
)
_TYPOGRAPHY: Final = str.maketrans("‘’“”–—…", "''\"\"--.")

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
# An identifier is matter, also where its letters are a common word: HIS-2093, IT-12.
_IDENTIFIER: Final = re.compile(r"[A-Za-z]+[-_/][0-9]{2,}")
_CJK_WORD: Final = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}ー々〆〇]")
_SIGNS: Final = re.compile("[👍👌🙏👏✅💯😀-😏🙂🙌🎉🥳🤝💪🏻-🏿]\ufe0f?")
_PICTURE: Final = regex.compile(r"\p{Extended_Pictographic}(?<![\p{N}])|\p{Regional_Indicator}|[+#]{1,2}$")

# Japanese: what belongs to grammar, to asking and to courtesy, longest first where one begins another.
_GRAMMAR: Final = (
    # courtesy and acts of speech
    "お世話になって(?:おり|い)ます|お世話になります|お疲れ(?:さま|様)(?:です|でした)?|ご苦労(?:さま|様)(?:です|でした)?|おはよう(?:ございます)?|"
    "こんにちは|こんばんは|おやすみ(?:なさい)?|さようなら|はじめまして|ありがとう(?:ございま(?:す|した))?|有難う(?:ございます)?|"
    "(?:どうも|大変|誠に|本当に)?(?:すみません|ごめん(?:なさい)?|申し訳(?:ござい|あり)ません)|失礼(?:し|いたし)ます|恐れ入りますが?|"
    "お手数(?:を)?(?:おかけ(?:いたし|し)ます|ですが)?が?|よろしく(?:お願い(?:(?:いた|致)?します)?)?|お願い(?:(?:いた|致)?し(?:ます|たい))?(?:です)?|"
    "了解(?:です|しました|いたしました)?|承知(?:です|しました|いたしました)?|かしこまりました|わかりました|分かりました|なるほど|そうですね|"
    "(?:大丈夫|結構|完璧|最高|素晴らしい|すばらしい|いい|良い|よい)(?:です)?(?:ね|よ)?(?![\\p{Han}\\p{Katakana}])|はい|ええ|うん|いいえ|いえ|ううん|"
    "オーケー|オッケー|次へ|次(?=(?:を|も)?お?願い)|その通り(?:です)?|違(?:う|います)|ありが(?:たい|とさん)|助か(?:り(?:ます|ました)|った|る)|嬉しい(?:です)?|"
    # what is asked to be done, as a request
    "(?:教え|聞かせ|見せ|示し|挙げ|並べ|列挙し|まとめ|要約し|説明し|解説し|書き直し|書き換え|書い|直し|修正し|作っ|作成し|考え|調べ|"
    "確認し|計算し|翻訳し|訳し|比べ|比較し|証明し|進め|続け|始め|待っ|やっ|やり直し|試し|柔らかくし|短くし|長くし|出し|提案し|紹介し)"
    "(?:て|で)(?:(?:い|頂|いただ)(?:き|け)(?:ます|ません|ました|たい|ないでしょう)?(?:でしょう)?(?:です)?か?|"
    "(?:くだ|下)さい(?:ませ(?:ん)?)?か?|ほしい(?:です)?|欲しい(?:です)?|くれ(?:る|ます|ません)?か?|もらえ(?:る|ます|ません)?か?|みて|ね|よ)?|"
    "(?:て|で|を|も)?(?:くだ|下)さい|"
    "(?:お)?(?:聞き|うかがい|伺い|尋ね|たずね|知り|教わり|確かめ|確認|質問|相談)(?:し)?たい(?:の|ん)?(?:こと|です|だ)?(?:が|けど|けれど)?|"
    "(?:ひとつ|一つ|一点)?(?:質問|確認|相談)(?:が(?:ある|あり)(?:ます)?|です|させて)|"
    # questions
    "(?:何|なん)(?:と|て)(?:いう|言う|呼ぶ|(?:いい|言い|呼び|称し)ます|(?:いわ|言わ|呼ば|称さ)れ(?:る|た|ます|ました|て))|"
    "どのくらい|どれくらい|どのように|どのような|どういう|どうやって|どうして|どこ|どれ|どの|どちら|どなた|どんな|どう|いつごろ|いつ|いくら|いくつ|"
    "なぜ|なに|なん(?:で)?|何(?:時|日|月|年|人|件|回|個|分|曜日|度|℃|専用)?|誰|だれ|理由|原因|方法|やり方|仕方|こと|件|"
    # verbs and endings without matter
    "(?:し|い|おこな|行|な|あ|で|き)?(?:まし(?:た|ょう)|ません(?:でした)?|ます)|でしょう|でした|です|だった|である|だろう|"
    "(?:して|されて|って|て|で)(?:いる|いた|いて|います|いました|おり|ある|あった|おく|おいた|しまう|しまった|くる|きた|いく|いった)|"
    "(?:と)?なっ(?:て|た)|(?:と|に)なる|なら(?:ない)?|(?:で)?きる|(?:で)?きた|される|された|させる|する|した|して|しよう|すれば|しない|"
    "(?:て)?ほしい|たい|いる|いた|いて|ある|あった|ない|なかった|なければ|られる|られた|れる|"
    "(?:使|遣)(?:っ(?:て|た)(?:いる)?|います|う|い)|行(?:う|われる|います)|"
    "やったこと|やること|したこと|すること|やった|やる|"
    "(?:始め|進め|続け|行き|やり|終わり|終え|そうし)ましょう|"
    # joints
    "について(?:の|は|も)?|に(?:関|対)して|に(?:よっ|とっ)て|によると|として|ところで|それから|それで(?:は)?|そして|また|まず|次に|なお|ただし|"
    "では|じゃあ|じゃ|さて|あと|先に|その前に|もう(?:少し|一度|一つ)?|少し|ちょっと|とりあえず|今|すべて|全て|全部|これまで|今まで|いままで|"
    "これ|それ|あれ|この|その|あの|ここ|そこ|こう|そう|もの|とき|ため|よう|ところ|ほう|など|だけ|ばかり|くらい|ぐらい|ごろ|"
    "から|まで|より|ので|のに|のは|のが|のを|けれど(?:も)?|けど|という|といった|っていう|って|には|とは|へは|でも|にも|とも|への|での|からの|"
    "私(?:たち|達)?(?:は|が|の)?|僕(?:たち|ら)?|我々|みんな|皆(?:さん)?|さん|さま|様"
)  # fmt: skip
_GRAMMAR_RUN: Final = regex.compile(_GRAMMAR)
_PARTICLE: Final = regex.compile(
    r"(?<=[^\p{Hiragana}]|^)(?:は|が|を|に|で|と|の|も|へ|や|か)(?=[^\p{Hiragana}]|$)|[かねよわぞさ]+$"
)
_BESIDE: Final = regex.compile(
    r"(?<=[\p{Han}\p{Katakana}ー])[はがをにでとのもへや]|[はがをにでとのもへや](?=[\p{Han}\p{Katakana}])"
)
# A request for an act without its object: one word, its ending and the request: コミットして, 再起動お願いします.
_BARE_REQUEST: Final = regex.compile(
    r"(?:(?:それ|これ|そのまま|では|じゃあ?|もう一度|一旦|いったん|とりあえず|次に?|先に|まず|全部|すぐに?)[をはで]?[、,]?\s*)*"
    r"[\p{Han}\p{Katakana}ーA-Za-z]{1,12}\p{Hiragana}{0,3}?"
    r"(?:[てで](?:(?:くだ|下)さい|ほしい(?:です)?|くれ(?:ます|ません)?か?|もらえ(?:ます|ません)?か?|いただけ(?:ます|ません)?か?|ね|よ)?"
    r"|(?:を)?お?願いします|(?:を)?(?:よろしく|頼む|頼みます))[。．.!！、\s]*"
)

# What is said in reply and names no matter, as a whole: はい、いい感じです. Its words may be matter inside a question.
_REPLY: Final = regex.compile(
    r"(?:(?:(?:あー?|おー?|えー?|じゃあ?|では|それ(?:では|で|なら|は)?|これ(?:で|は)?|そのまま|どうも|とても|すごく|本当に|大変|まあ|もう|"
    r"いったん|一旦|とりあえず|ひとまず|特に(?:は)?|今のところ|もちろん)[、,]?\s*)*"
    r"(?:はい|ええ|うん|いいえ|いえ|いや|ありがとう(?:ございま(?:す|した))?|お願い(?:し(?:ます|たい)|いたします)|よろしく|了解|承知|"
    r"わかった|分かった|わかりました|分かりました|感謝|助か(?:る|った|ります|りました)|さすが|すごい|凄い|素敵|素晴らしい|すばらしい|"
    r"見事|ばっちり|バッチリ|完璧|最高|えらい|偉い|ナイス|グッド|グッジョブ|サンキュー|いい感じ|良い感じ|いい(?:案|考え|アイデア)|"
    r"(?:何も)?(?:問題|異論|異議|質問|変更|追加|心配|必要)(?:は|も)?(?:ない|なし|無い|無し|ありません|なさそう)|"
    r"何も(?:ない|ありません)|ない|なし|ありません|なんでも(?:ない|いい)|何でも(?:ない|いい)|不要|無用|いらない|いりません|結構|やめて(?:おいて)?|"
    r"やめ(?:る|ます|ましょう|よう)|ストップ|(?:キャンセル|スキップ|中止|中断|終了|承認|採用|納得|安心|元気)(?=です|で|し|だ|[?？])|(?:これ|それ|そのまま)で|(?:少々|しばらく)お待ち(?:ください)?|次(?:へ|に)?|"
    r"(?:お任せ|お?まかせ)(?:し)?|任せ(?:る|た|ます)?|頼(?:む|みます)|(?:どっち|どちら|どれ|なん|何)でも|(?:両方|二つ|全部|どちら|どっち)(?:とも)?|"
    r"[0-9０-９一二三四五]{1,2}(?:つ目|番目?|個目)(?:の(?:方|ほう|案))?|[A-Da-dＡ-Ｄ]案?(?=で|に|をお|お願い)|前者|後者|(?:最初|最後|上|下)の(?:やつ|方|ほう|案|もの)|"
    r"もう(?:一回|一度|少し)|元に戻して|もっと\p{L}{1,4}く|(?:その|この)(?:方針|方向|案|通り|調子|線|内容|感じ)|"
    r"また(?:明日|今度|後で|あとで|来週|ね)|(?:大)?正解|合ってる|合っています|たしかに|確かに|もちろん|当然|うー?ん+|んー*|えーっ?と|えっと|"
    r"ふーん|ふむ(?:ふむ)?|ほう|へ[えー]*|ほんと(?:う)?(?:に)?|本当(?:に)?|まじ(?:で|っす)?|マジ(?:で|っす)?|どう思(?:う|います)|どうしよう|"
    r"(?:他|ほか)に(?:は|も)?(?:何か)?(?:ある|あります)?|以上|おわり|終わ(?:り|った|りました)|(?:準備)?(?:完了|できた|できました)|"
    r"準備(?:は)?(?:OK|ok|オーケー|いい|万端)|聞こえ(?:る|ます)|お元気|調子(?:は)?(?:どう|いかが)|気にしないで(?:ください)?|"
    r"賛成|同意|同感|やった|よかった|良かった|楽しみ|残念|面白い|うれしい|嬉しい|(?:お)?久しぶり|ただいま|おかえり|"
    r"(?:いい|よい|良い|良さそう|よさそう)|大丈夫|オーケー|オッケー|OK|ok|Ok|おけ|おｋ|おk|ハロー|バイバイ|笑笑+|ww*)"
    r"(?:です|でした|だ|だった|します|しました|いたします|してい?ます|ました|そう)?(?:で|に|が|を)?"
    r"(?:お願い(?:し|いたし)ます|頼みます|いき(?:ます|ましょう)|いこう|行きましょう|進めて(?:ください)?|進めましょう|続けて(?:ください)?|して(?:ください)?)?"
    r"(?:か|かな|っけ)?(?:ね|よ|よね|な|わ|ぞ)?[、,。．.!！?？〜~ー…\s]*){1,4}"
)
_LONGEST_REPLY: Final = 32  # characters

# What was done, without saying what: enough where a time is named.
_ACTIVITY: Final = frozenset(
    "accomplish accomplished achieve achieved activities activity do doing done event events finished happen happened "
    "happening happens news project progress status summary summarise summarize team update updates work worked".split()
)
_JAPANESE_ACTIVITY: Final = regex.compile(
    r"作業(?:内容)?|仕事|進捗|進み具合|出来事|活動|記録|内容|成果|状況|様子|予定|起き(?:た|ました)|起こ(?:った|りました)|進め(?:た|ました)|行(?:った|いました)|取り組んだ?"
)


def is_idle(sentence: str) -> bool:
    """Whether a sentence or line names no matter: a greeting, consent, thanks, a request for an act without object."""
    text = _SIGNS.sub("", sentence).strip()
    if _CJK_WORD.search(text):
        if _IDENTIFIER.search(text):
            return False
        plain = text.strip(" 　。．.!！?？、,…〜~ー")
        if _BARE_REQUEST.fullmatch(plain) or _BARE_REQUEST.fullmatch(text):
            return True
        if len(text) <= _LONGEST_REPLY and _REPLY.fullmatch(text):
            return True
        latin = [word for word in _WORD.findall(_CJK_WORD.sub(" ", text)) if not word.isdecimal()]
        return not any(_matter(run) for run in _runs(text)) and all(word.lower() in _LITTLE for word in latin)
    words = _WORD.findall(_SET_PHRASES.sub("ok", text.lower().replace("’", "'")))
    if not words or _PICTURE.search(text):
        return not text or not (words or _PICTURE.search(text))
    rest = [word for word in words if not _small(word)]
    if not rest:
        return True
    if set(rest) <= _PACE and len(words) <= 2 * len(rest) and _imperative(words):
        return True
    if len(rest) > 1 or rest[0] not in words[:5]:
        return False
    place = words.index(rest[0])
    before, behind = words[:place], words[place + 1 :]
    return (
        _imperative(before)
        and all(map(_small, behind))
        and (
            rest[0] in (_VERBS if len(words) > 1 else _PACE)
            or (bool(behind) and behind[0] in ("it", "this", "that", "them"))
        )
    )


# A request that something be told is a question; one that something be done is none.
_TELLING: Final = re.compile(
    r"^(?:(?:please|now|then|and|also|can you|could you|would you|first|next)[, ]+)*"
    r"(?:tell|show|list|explain|remind|give|find|recall|look up|search|describe|name|summari[sz]e)\b"
    r"|\b(?:(?:do you )?(?:know|remember)|wonder(?:ing)?|tell me|remind me)\b"
    r"|(?:教え|聞かせ|見せ|挙げ|示し|思い出し|探し|知りたい|聞きたい|気にな)",
    re.IGNORECASE,
)
_DOING: Final = re.compile(
    r"\b(?:please|make sure|be sure to|i(?: would|'d) like you to|you (?:should|must|are)|do not|don't|never|avoid)\b"
    r"|(?:[てで](?:(?:くだ|下)さい|ほしい|ください)|お願いします|(?:し|く|る|ない)こと|ように|いただけますか)(?:ね|よ)?[。．.!！\s]*$",
    re.IGNORECASE,
)


def is_telling(sentence: str) -> bool:
    """Whether a sentence that has no question mark asks to be told something."""
    return _TELLING.search(sentence) is not None


def is_instruction(sentence: str) -> bool:
    """Whether a sentence says what to do, or how, rather than what is asked or what is the case."""
    first = next(iter(_WORD.findall(sentence)), "").lower()
    return not is_telling(sentence) and (first in _VERBS or _DOING.search(sentence) is not None)


def is_activity(sentence: str) -> bool:
    """Whether a sentence asks for what was done or happened and for nothing in particular."""
    text = _JAPANESE_ACTIVITY.sub("、", sentence)
    words = _WORD.findall(text)
    return is_idle(" ".join("do" if word.lower() in _ACTIVITY else word for word in words)) if words else True


def _small(word: str) -> bool:
    return word in _LITTLE or word.partition("'")[0] in _LITTLE or word.endswith("n't") or word in ("k", "n", "u", "y")


def _imperative(before: list[str]) -> bool:
    """Whether a verb behind these words is a request: nothing, courtesies, "can you", "let's"."""
    return not any(
        word in ("how", "what", "when", "where", "who", "why", "which", "does", "did", "the") for word in before
    )


def _runs(text: str) -> list[str]:
    return [match[0] for match in regex.finditer(r"[\p{Han}\p{Hiragana}\p{Katakana}ー々〆〇]+", text)]


def _matter(run: str) -> bool:
    """Whether two characters beside each other, or a kanji, are left when grammar is taken out of a run."""
    marks = grammar(run)
    left = [char for char, mark in zip(run, marks, strict=True) if not mark]
    return any(not "\u3041" <= char <= "\u309f" for char in left) or len(left) > 2


@lru_cache(maxsize=1 << 12)
def grammar(run: str) -> tuple[bool, ...]:
    """For each character of a run of Japanese whether it belongs to grammar or to asking rather than to the matter."""
    marks = [False] * len(run)
    for pattern in (_GRAMMAR_RUN, _PARTICLE, _BESIDE):
        for match in pattern.finditer(run):
            for place in range(match.start(), match.end()):
                marks[place] = True
    return tuple(marks)


def reads_english(text: str) -> bool:
    """Whether a text reads as English: plain letters, and more than a quarter of its words are common ones that other
    languages lack; or so few words that nothing tells."""
    if not text.isascii():
        text = text.translate(_TYPOGRAPHY)
        if not text.isascii():
            return False
    words = [word.lower() for word in _WORD.findall(text)]
    return len(words) < 4 or 4 * sum(word in _COMMON or _small(word) for word in words) > len(words)
