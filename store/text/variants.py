"""Kanji that are written in two ways, as one: old forms and forms of family names, to those in use today. Pure.

The pairs are those of the Japanese list of kanji for general use (1946 to 2010) and the commonest forms of registered
names. Unicode normalization does not know them.
"""

from __future__ import annotations

from typing import Final

_OLD: Final = (
    "亞惡壓圍醫爲壹稻飮隱營榮衞驛圓鹽緣艷應歐毆櫻奧橫溫穩假價畫會繪壞懷擴殼覺學嶽樂渴勸卷寬歡罐觀關陷顏歸氣龜僞戲"
    "犧舊據擧虛峽挾狹鄕堯曉區驅勳薰徑惠揭溪經繼莖螢輕鷄藝擊缺儉劍圈檢權獻縣險顯驗嚴效廣恆鑛號國黑濟碎齋劑參慘棧蠶"
    "贊殘絲齒兒辭濕實舍寫釋壽收從澁獸縱肅處緖敍奬將燒稱證乘剩壤孃條淨疊穰讓釀囑觸寢愼晉眞盡圖粹醉隨髓數樞聲靜齊攝"
    "竊專戰淺潛纖踐錢禪雙壯搜插爭總聰莊裝騷臟藏屬續墮體對帶滯臺瀧擇澤單擔膽團彈斷癡晝蟲鑄廳聽敕鎭遞鐵轉點傳黨盜燈"
    "當鬪德獨讀屆繩貳惱腦霸廢拜賣麥發髮拔蠻祕濱濵甁拂佛倂竝變邊邉辨瓣辯舖穗寶襃豐沒飜槇萬滿默彌藥譯豫餘與譽搖樣謠"
    "遙來賴亂覽龍兩獵綠壘勵禮隸靈齡戀爐勞樓郞祿灣瑤髙﨑嵜𠮷嶋嶌桒舘內閒槗舩冨峯柗曻增寳淸靑黃步每"
)
_NEW: Final = (
    "亜悪圧囲医為壱稲飲隠営栄衛駅円塩縁艶応欧殴桜奥横温穏仮価画会絵壊懐拡殻覚学岳楽渇勧巻寛歓缶観関陥顔帰気亀偽戯"
    "犠旧拠挙虚峡挟狭郷尭暁区駆勲薫径恵掲渓経継茎蛍軽鶏芸撃欠倹剣圏検権献県険顕験厳効広恒鉱号国黒済砕斎剤参惨桟蚕"
    "賛残糸歯児辞湿実舎写釈寿収従渋獣縦粛処緒叙奨将焼称証乗剰壌嬢条浄畳穣譲醸嘱触寝慎晋真尽図粋酔随髄数枢声静斉摂"
    "窃専戦浅潜繊践銭禅双壮捜挿争総聡荘装騒臓蔵属続堕体対帯滞台滝択沢単担胆団弾断痴昼虫鋳庁聴勅鎮逓鉄転点伝党盗灯"
    "当闘徳独読届縄弐悩脳覇廃拝売麦発髪抜蛮秘浜浜瓶払仏併並変辺辺弁弁弁舗穂宝褒豊没翻槙万満黙弥薬訳予余与誉揺様謡"
    "遥来頼乱覧竜両猟緑塁励礼隷霊齢恋炉労楼郎禄湾瑶高崎崎吉島島桑館内間橋船富峰松昇増宝清青黄歩毎"
)
VARIANTS: Final = str.maketrans(_OLD, _NEW)
"""Each variant to the form in use, for `str.translate`."""
